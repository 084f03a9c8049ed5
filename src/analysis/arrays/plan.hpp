#pragma once
// In which pieces two arrays of one shape are read.
#include <functional>

#include "model/arrays.hpp"

namespace numdiff::analysis {

// A grid of cells over an array: each is read by one thread, box by box.
struct reading_plan {
  model::extents shape, cell;
  std::uint64_t cells = 0;
  std::uint64_t box_bytes = 0;  // about what a box may have
  bool one_thread = false;
  bool last_first = false;  // cells follow each other along the first dimension
};

reading_plan plan_reading(const model::extents& shape, std::uint64_t element_bytes,
                          const model::array_layout& a, const model::array_layout& b, bool texts);

// Calls use(box) for all boxes of the cell.
void for_each_box(const reading_plan& plan, std::uint64_t cell, std::uint64_t element_bytes,
                  const std::function<void(const model::box&)>& use);

}  // namespace numdiff::analysis

#pragma once
// What adds up over the values of one part of two arrays.
#include <functional>
#include <memory>
#include <span>

#include "analysis/arrays/array_comparison.hpp"

namespace numdiff::analysis {

// Two parts whose values can be compared, and where their elements stand.
struct compared_parts {
  model::element_part reference, test;
  model::extents shape;  // of the arrays; the parts' own shape stands behind
  tolerance accepts;
};

// Row-major indices of a box's scalars in the whole array.
class box_indices {
 public:
  box_indices(const model::extents& shape, const model::box& where, std::uint64_t scalars_of_element)
      : shape_(&shape), where_(&where), inner_(scalars_of_element) {}
  // Of the i-th scalar of the box.
  [[nodiscard]] std::uint64_t flat(std::uint64_t i) const noexcept;

 private:
  const model::extents* shape_;
  const model::box* where_;
  std::uint64_t inner_;
};

// Sums are of boxes in the order they are added and merged, whichever threads did it.
class tally {
 public:
  tally() = default;
  tally(const tally&) = delete;
  tally& operator=(const tally&) = delete;
  virtual ~tally() = default;
  // Little-endian scalars side by side, as gather() gives them.
  virtual void add(std::span<const std::byte> reference, std::span<const std::byte> test,
                   const box_indices& where) = 0;
  // Takes what follows in the arrays.
  virtual void merge(const tally& next) = 0;
  virtual void finish(array_row& row) const = 0;
};

// Nothing when values of these kinds cannot be compared.
std::unique_ptr<tally> make_tally(const compared_parts& parts);

bool is_number(model::part_kind kind) noexcept;

}  // namespace numdiff::analysis

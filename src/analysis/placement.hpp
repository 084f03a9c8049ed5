#pragma once
// Where a rank's view lies in the global tensor, from the placement text of a capture.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/run.hpp"

namespace numdiff::analysis {

struct mesh_axis {
  std::string name;
  std::int64_t size = 1;
  std::int64_t at = 0;
  numdiff::spread spread = numdiff::spread::unknown;
  int dim = -1;
};

struct placement {
  bool told = false;  // false: rank-local
  std::vector<mesh_axis> mesh;
  std::vector<std::int64_t> global;               // extents of the global tensor
  std::vector<std::array<std::int64_t, 2>> box;   // [begin, end) per dimension, empty: all of it
  std::vector<std::array<std::int64_t, 3>> flat;  // global begin, local begin, length
  int ids = -1;                                   // dimension with explicit global ids
  std::string part;                               // equal for views of the same elements

  [[nodiscard]] const mesh_axis* partial() const noexcept;
  [[nodiscard]] std::int64_t elements() const noexcept;  // of the global tensor
};

// Parses each distinct text once. A text that cannot be read is a rank-local placement.
class placement_cache {
 public:
  const placement& of(std::string_view text);

 private:
  std::unordered_map<std::string, placement> parsed_;
};

// Whether a view of that shape lies within the global tensor; `ids` are the explicit ids of a placement by
// ids.
bool fits(const placement& where, const model::shape_row& shape, std::span<const std::int64_t> ids);

std::int64_t elements_of(const model::shape_row& shape) noexcept;

}  // namespace numdiff::analysis

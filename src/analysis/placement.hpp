#pragma once
// Where a rank's view lies in the global tensor, from the placement text of a capture.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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
  using range = std::array<std::int64_t, 2>;  // [begin, end)

  bool told = false;  // false: rank-local
  std::vector<mesh_axis> mesh;
  std::vector<std::int64_t> global;               // extents of the global tensor
  std::vector<range> box;                         // per dimension, empty: all of it
  std::vector<std::vector<range>> ranges;         // per dimension, in local order; none: as the box says
  std::vector<std::array<std::int64_t, 3>> flat;  // global begin, local begin, length
  int ids = -1;                                   // dimension with explicit global ids
  std::string part;                               // equal for views of the same elements
  std::string region;                             // the same, and for all terms of one sum
  bool part_by_rank = false;                      // no axis tells the ids of one rank from those of another

  [[nodiscard]] const mesh_axis* partial() const noexcept;
  [[nodiscard]] std::int64_t terms() const noexcept;     // that add up to the tensor
  [[nodiscard]] double part_scale() const noexcept;      // of a term: 1 / size of every average
  [[nodiscard]] std::int64_t elements() const noexcept;  // of the global tensor
};

// Parses each distinct text once. A text that cannot be read is a rank-local placement.
class placement_cache {
 public:
  const placement& of(std::string_view text);
  // Whether views of these placements, which it gave out, have no element in common; for the caller to fill
  // in and to find again.
  std::optional<bool>& disjoint(const std::vector<const placement*>& all) { return disjoint_[all]; }

 private:
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, placement, text_hash, std::equal_to<>> parsed_;
  std::map<std::vector<const placement*>, std::optional<bool>> disjoint_;
};

std::int64_t elements_of(const model::shape_row& shape) noexcept;

}  // namespace numdiff::analysis

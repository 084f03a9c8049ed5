#pragma once
// Which scale belongs to which element of a scaled tensor.
#include <cstdint>
#include <string_view>
#include <vector>

namespace numdiff::analysis::expect {

struct scale_map {
  std::vector<std::uint32_t> group;  // per element, row-major; empty: one group
  std::size_t groups = 1;
  double global = 1;     // second-level scale
  bool encodes = false;  // code = round(value * scale)

  [[nodiscard]] std::size_t at(std::size_t i) const noexcept { return group.empty() ? 0 : group[i]; }
};

// From the scaling text of a capture. Throws std::runtime_error for what it cannot map.
[[nodiscard]] scale_map scale_map_of(std::string_view scaling, const std::vector<std::int64_t>& shape);

}  // namespace numdiff::analysis::expect

#pragma once
// Which scale belongs to which element of a scaled tensor.
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace numdiff::analysis::expect {

// Blocks of `extent` along every dimension, numbered row-major like their scales.
struct scale_map {
  std::size_t rank = 0;  // 0: one group
  std::array<std::size_t, 8> shape{}, extent{}, blocks{};
  std::size_t groups = 1;
  double global = 1;     // second-level scale
  bool encodes = false;  // code = round(value * scale)
  bool finest = false;   // blocks that the format prescribes: it has no smaller ones

  // The group of the element at row-major index i.
  [[nodiscard]] std::size_t at(std::size_t i) const noexcept {
    std::size_t group = 0, weight = 1;
    for (std::size_t d = rank; d-- > 0;) {
      group += i % shape[d] / extent[d] * weight;
      weight *= blocks[d];
      i /= shape[d];
    }
    return group;
  }
};

// The second-level scale of a scaling text as a decode scale; 1 without one.
[[nodiscard]] double global_scale_of(std::string_view scaling);

// From the scaling text of a capture. Throws std::runtime_error for what it cannot map.
[[nodiscard]] scale_map scale_map_of(std::string_view scaling, const std::vector<std::int64_t>& shape);

}  // namespace numdiff::analysis::expect

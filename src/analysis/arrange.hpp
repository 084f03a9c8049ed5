#pragma once
// One tensor laid out in two ways: dimensions split, permuted and joined.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace numdiff::analysis {

// Element i of the result is element source[i] of the tensor that was rearranged; empty: as it stands.
struct arrangement {
  std::vector<std::size_t> source;
  double distance = 0;  // relative L2 distance from `like` on a sample
  double angle = 0;     // its sine: the same where a common factor is allowed

  [[nodiscard]] std::vector<double> apply(std::span<const double> values) const;
};

// Sines below this are of one tensor in two roundings; unrelated ones are near 1.
inline constexpr double same_tensor = 0.5;

// The arrangement of `values` (of shape `from`) in shape `to` that comes nearest to `like`, whatever their
// size; the values as they stand where that is as near as any, or where none is the same tensor. Nothing
// when no arrangement has that shape.
std::optional<arrangement> arrange(std::span<const double> values, const std::vector<std::int64_t>& from,
                                   const std::vector<std::int64_t>& to, std::span<const double> like);

}  // namespace numdiff::analysis

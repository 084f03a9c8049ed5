#pragma once
// What sketches say about the tensors behind them. All figures are estimates without bias for squares, with
// relative standard deviation sketch_relative_sd for a distance or norm; up to 256 elements they are exact.
#include <array>

#include "numdiff/detail/digest.hpp"
#include "numdiff/detail/rows.hpp"

namespace numdiff::model {

using sketch = std::array<double, detail::sketch_buckets>;

// 1 / sqrt(2 * 256): a squared norm varies by sqrt(2 / 256) of itself (Charikar, Chen, Farach-Colton 2002).
inline constexpr double sketch_relative_sd = 0.044194173824159216;

// Sketches and digests of shards, or of the terms of a partial sum (sketches only), add up.
void add(sketch& total, const sketch& part) noexcept;

// ||x||, of the elements that sketches count: finite, and not a fill value.
double norm(const sketch& x) noexcept;
// ||x - y||
double distance(const sketch& x, const sketch& y) noexcept;
// <x, y>, with standard deviation sqrt((||x||^2 ||y||^2 + <x, y>^2) / 256)
double dot(const sketch& x, const sketch& y) noexcept;
// NaN when a norm is 0.
double cosine(const sketch& x, const sketch& y) noexcept;

// The factor f that makes ||y - f x|| smallest, and that distance. NaN when x is 0.
struct common_factor {
  double factor;
  double residual;
};
common_factor best_factor(const sketch& x, const sketch& y) noexcept;

}  // namespace numdiff::model

#pragma once
// Mean and variance of a row, in an arithmetic that is not the op's own.
#include <algorithm>
#include <cstddef>
#include <functional>

#include "analysis/expect/grid.hpp"

namespace numdiff::analysis::expect {

// Mean and variance of a row as a faulty op forms them.
struct moments {
  double mean, variance;
};
using moments_of = std::function<moments(const double* row, std::size_t n)>;

// E[x^2] - E[x]^2 in the given arithmetic, added up in order.
inline moments by_difference(const double* x, std::size_t n, const grid& g) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum = g.round(sum + x[i]);
    squares = g.round(squares + x[i] * x[i]);
  }
  const double mean = g.round(sum / static_cast<double>(n));
  return {mean, std::max(0.0, g.round(g.round(squares / static_cast<double>(n)) - g.round(mean * mean)))};
}

// Two passes in the given arithmetic; the mean of squares alone when not centred.
inline moments by_passes(const double* x, std::size_t n, const grid& g, bool centred) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < n && centred; ++i) sum = g.round(sum + x[i]);
  const double mean = g.round(sum / static_cast<double>(n));
  for (std::size_t i = 0; i < n; ++i) squares = g.round(squares + (x[i] - mean) * (x[i] - mean));
  return {mean, g.round(squares / static_cast<double>(n))};
}

}  // namespace numdiff::analysis::expect

#pragma once
// Which elements of a tensor each result of a reduction is made of, as the shapes alone tell it.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/expect/expectation.hpp"
#include "analysis/expect/shapes.hpp"
#include "analysis/expect/tensor.hpp"

namespace numdiff::analysis::expect {

// Result r is made of the elements kept[r] + reduced[k] of the tensor.
struct reduction_axes {
  std::vector<std::size_t> kept, reduced;
  // The addends of a result lie one behind the other.
  [[nodiscard]] bool contiguous() const noexcept {
    return reduced.empty() || reduced.back() + 1 == reduced.size();
  }
};

// The dimensions that ops of a kind reduce when a shape leaves the choice.
enum class usual_axes { leading, trailing };

// Every choice of dimensions whose reduction leaves the shape `y`, with or without dimensions of size 1, the
// usual one first; results that are written as one list count, too. Empty: the shapes are no reduction.
[[nodiscard]] std::vector<reduction_axes> reductions(const std::vector<std::int64_t>& x,
                                                     const std::vector<std::int64_t>& y, usual_axes usual);

// How far stored values are from the replayed ones: where shapes leave a choice, the nearest was computed.
[[nodiscard]] double distance_to(const expectation& e, const tensor& stored) noexcept;

// make(axes) for the choice that comes nearest to what was written.
// The expectation names the choice (expectation::choice).
template <class F>
expectation nearest_of(const std::vector<reduction_axes>& choices, const tensor& written, F&& make) {
  require(!choices.empty(), "the output is not a reduction of the input's shape");
  expectation best = make(choices.front());
  double least = choices.size() > 1 ? distance_to(best, written) : 0;
  for (std::size_t i = 1; i < choices.size(); ++i) {
    expectation other = make(choices[i]);
    const double d = distance_to(other, written);
    if (d >= least) continue;
    best = std::move(other);
    best.choice = static_cast<int>(i);
    least = d;
  }
  return best;
}

}  // namespace numdiff::analysis::expect

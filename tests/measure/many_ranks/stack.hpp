#pragma once
// A stack of feed-forward layers on a fixed batch: computed in FP32 as a job of that shape does it, part by
// part and replica by replica, so that every rank's tensors are those of an honest run.
#include <cstdint>
#include <vector>

#include "measure/many_ranks/job.hpp"

namespace many_ranks {

using matrix = std::vector<float>;  // row-major

// What one replica holds of a layer after a step.
struct layer_values {
  matrix x, y;            // rows x width: before and after the norm
  matrix u;               // rows x inner
  std::vector<matrix> z;  // by part: rows x width, a term of the sum over parts
  matrix r, out;          // rows x width: that sum, and the residual stream behind it
  matrix gradient;        // width x inner: of `up`, a term of the sum over replicas
};

class stack {
 public:
  explicit stack(const job& shape);

  [[nodiscard]] const job& shape() const { return shape_; }
  // width x inner, at that step.
  [[nodiscard]] const matrix& up(std::int64_t step, std::int64_t layer) const;
  // inner x width
  [[nodiscard]] const matrix& down(std::int64_t layer) const {
    return down_[static_cast<std::size_t>(layer)];
  }
  // width x inner: the gradient of `up` of all replicas, as a step applied it.
  [[nodiscard]] const matrix& gradient(std::int64_t step, std::int64_t layer) const;
  [[nodiscard]] std::vector<layer_values> replica(std::int64_t step, std::int32_t number) const;

 private:
  [[nodiscard]] std::size_t at(std::int64_t step, std::int64_t layer) const {
    return static_cast<std::size_t>(step * shape_.layers + layer);
  }
  job shape_;
  std::vector<matrix> up_, gradients_, down_;
};

}  // namespace many_ranks

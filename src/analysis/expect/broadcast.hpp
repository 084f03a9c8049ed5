#pragma once
// Operands of an elementwise op: shapes are aligned at the last dimension, sizes of 1 repeat.
#include <cstddef>
#include <vector>

#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

class broadcast {
 public:
  // Throws cannot_replay when x does not repeat to the shape.
  broadcast(const tensor& x, const std::vector<std::int64_t>& shape) : x_(&x), shape_(&shape) {
    same_ = x.values.size() == count_of(shape);
    if (same_) return;
    require(x.shape.size() <= shape.size(), "operands do not broadcast");
    steps_.assign(shape.size(), 0);
    std::size_t step = 1;
    for (std::size_t k = 0; k < x.shape.size(); ++k) {
      const std::int64_t size = x.shape[x.shape.size() - 1 - k], wanted = shape[shape.size() - 1 - k];
      require(size == wanted || size == 1, "operands do not broadcast");
      if (size != 1) steps_[shape.size() - 1 - k] = step;
      step *= static_cast<std::size_t>(size);
    }
  }
  double operator[](std::size_t i) const {
    if (same_) return x_->values[i];
    std::size_t at = 0;
    for (std::size_t d = shape_->size(); d-- > 0;) {
      const auto size = static_cast<std::size_t>((*shape_)[d]);
      at += i % size * steps_[d];
      i /= size;
    }
    return x_->values[at];
  }

 private:
  const tensor* x_;
  const std::vector<std::int64_t>* shape_;
  std::vector<std::size_t> steps_;
  bool same_ = false;
};

}  // namespace numdiff::analysis::expect

#pragma once
// One function per op kind: from the stored inputs to the expectation of every output.
#include <cmath>
#include <vector>

#include "analysis/expect/accumulator.hpp"
#include "analysis/expect/expectation.hpp"
#include "analysis/expect/replay.hpp"
#include "analysis/expect/shapes.hpp"

namespace numdiff::analysis::expect {

// Rounding of a result inside an op, between its formula's steps: step 0 is every step.
struct rounded_step {
  grid numbers;
  int step = 0;
};

// An op with what the kinds ask of it. With `sums` or `steps` its formula is computed with that fault.
class call {
 public:
  explicit call(const op_instance& op, const faulty_sum* sums = nullptr, const rounded_step* steps = nullptr);

  [[nodiscard]] const op_instance& op() const noexcept { return op_; }
  [[nodiscard]] const tensor& read(std::size_t i) const;  // throws cannot_replay when missing
  [[nodiscard]] bool reads(std::size_t count) const noexcept { return op_.reads.size() >= count; }
  [[nodiscard]] const tensor& write(std::size_t i) const;
  [[nodiscard]] std::size_t writes() const noexcept { return op_.writes.size(); }
  [[nodiscard]] double scalar(std::string_view name) const;  // throws when missing
  [[nodiscard]] double scalar(std::string_view name, double otherwise) const noexcept;
  [[nodiscard]] const accumulator& sum() const noexcept { return sum_; }
  [[nodiscard]] double unit() const noexcept { return sum_.unit(); }  // of the op's inner arithmetic
  [[nodiscard]] double rho() const noexcept { return rho_factor * sum_.unit(); }
  // Relative rms error of operands that are code times scale, where the op's arithmetic does not hold the
  // product; else 0.
  [[nodiscard]] double dequantised() const noexcept { return dequantised_; }
  // Below this an exponential of the op's inner format may be subnormal or zero.
  [[nodiscard]] double tiny() const noexcept { return 4 * std::ldexp(1.0, sum_.numbers.min_exponent); }
  [[nodiscard]] bool wide() const noexcept { return wide_; }  // FP64 results: replay in long double
  // Step `number` (from 1) of the formula: x itself, unless a fault is computed.
  template <class R>
  [[nodiscard]] R step(int number, R x) const noexcept {
    if (steps_ == nullptr || (steps_->step != 0 && steps_->step != number)) return x;
    return static_cast<R>(steps_->numbers.round(static_cast<double>(x)));
  }
  // True when the inner result is rounded once more on its way to this output.
  [[nodiscard]] bool rounds_twice(std::size_t write) const noexcept;

 private:
  const op_instance& op_;
  accumulator sum_;
  const rounded_step* steps_ = nullptr;
  bool wide_ = false;
  double dequantised_ = 0;
};

using expectations = std::vector<expectation>;  // one per write

using kind_function = expectations (*)(const call&);
// Null when the kind is not known.
[[nodiscard]] kind_function find_kind(std::string_view kind) noexcept;

expectations add(const call&);
expectations subtract(const call&);
expectations multiply(const call&);
expectations divide(const call&);
expectations square(const call&);
expectations power(const call&);
expectations exponential(const call&);
expectations reciprocal_square_root(const call&);
expectations mean(const call&);
expectations variance(const call&);
expectations maximum(const call&);
expectations maximum_count(const call&);
expectations scale(const call&);
expectations copy(const call&);
expectations cast(const call&);
expectations embedding(const call&);
expectations embedding_gradient(const call&);
expectations rms_norm(const call&);
expectations rms_norm_gradient(const call&);
expectations layer_norm(const call&);
expectations layer_norm_gradient(const call&);
expectations rope(const call&);
expectations mask(const call&);
expectations softmax(const call&);
expectations softmax_gradient(const call&);
expectations log_sum_exp(const call&);
expectations attention(const call&);
expectations attention_gradient(const call&);
expectations silu(const call&);
expectations silu_gradient(const call&);
expectations gelu(const call&);
expectations gelu_gradient(const call&);
expectations swiglu(const call&);
expectations swiglu_gradient(const call&);
expectations cross_entropy(const call&);
expectations cross_entropy_gradient(const call&);
expectations matmul(const call&);
expectations sum(const call&);
expectations amax(const call&);
expectations sum_of_squares(const call&);
expectations square_root(const call&);
expectations clip_by_norm(const call&);
expectations adamw(const call&);
expectations argmax(const call&);
expectations top_k(const call&);
expectations sample(const call&);
expectations relu(const call&);
expectations relu_gradient(const call&);

// Runs f.operator()<double>() or <long double>().
template <class F>
expectations in_precision_of(const call& c, F&& f) {
  if (c.wide()) return f.template operator()<long double>();
  return f.template operator()<double>();
}

}  // namespace numdiff::analysis::expect

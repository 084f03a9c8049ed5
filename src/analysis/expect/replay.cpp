#include "analysis/expect/replay.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

#include "analysis/expect/judge.hpp"
#include "analysis/expect/kinds.hpp"
#include "analysis/expect/orders.hpp"
#include "analysis/expect/taint.hpp"
#include "analysis/expect/variants.hpp"

namespace numdiff::analysis {
namespace expect {
namespace {

struct named_kind {
  std::string_view name;
  kind_function function;
};

constexpr std::array kinds = {
    named_kind{"adamw", adamw},
    named_kind{"add", add},
    named_kind{"amax", amax},
    named_kind{"argmax", argmax},
    named_kind{"attention", attention},
    named_kind{"attention_gradient", attention_gradient},
    named_kind{"cast", cast},
    named_kind{"clip_by_norm", clip_by_norm},
    named_kind{"copy", copy},
    named_kind{"cross_entropy", cross_entropy},
    named_kind{"cross_entropy_gradient", cross_entropy_gradient},
    named_kind{"divide", divide},
    named_kind{"embedding", embedding},
    named_kind{"embedding_gradient", embedding_gradient},
    named_kind{"exponential", exponential},
    named_kind{"gelu", gelu},
    named_kind{"gelu_gradient", gelu_gradient},
    named_kind{"layer_norm", layer_norm},
    named_kind{"layer_norm_gradient", layer_norm_gradient},
    named_kind{"log_sum_exp", log_sum_exp},
    named_kind{"mask", mask},
    named_kind{"matmul", matmul},
    named_kind{"maximum", maximum},
    named_kind{"maximum_count", maximum_count},
    named_kind{"mean", mean},
    named_kind{"multiply", multiply},
    named_kind{"power", power},
    named_kind{"reciprocal_square_root", reciprocal_square_root},
    named_kind{"relu", relu},
    named_kind{"relu_gradient", relu_gradient},
    named_kind{"rms_norm", rms_norm},
    named_kind{"rms_norm_gradient", rms_norm_gradient},
    named_kind{"rope", rope},
    named_kind{"sample", sample},
    named_kind{"scale", scale},
    named_kind{"silu", silu},
    named_kind{"silu_gradient", silu_gradient},
    named_kind{"softmax", softmax},
    named_kind{"softmax_gradient", softmax_gradient},
    named_kind{"square", square},
    named_kind{"square_root", square_root},
    named_kind{"subtract", subtract},
    named_kind{"sum", sum},
    named_kind{"sum_of_squares", sum_of_squares},
    named_kind{"swiglu", swiglu},
    named_kind{"swiglu_gradient", swiglu_gradient},
    named_kind{"top_k", top_k},
    named_kind{"variance", variance},
};

}  // namespace

kind_function find_kind(std::string_view kind) noexcept {
  const auto* found =
      std::find_if(kinds.begin(), kinds.end(), [&](const named_kind& k) { return k.name == kind; });
  return found == kinds.end() ? nullptr : found->function;
}

// FP64 results of terms below 2^-450 have errors whose squares no double holds; they are judged to this.
constexpr double no_variance = 0x1p-490;

call::call(const op_instance& op, const faulty_sum* sums, const rounded_step* steps)
    : op_(op), steps_(steps) {
  require(op.row != nullptr, "no op record");
  sum_ = accumulator_of(*op.row);
  sum_.fault = sums;
  for (const operand& out : op.writes) wide_ = wide_ || out.value.type == dtype::f64;
  const grid held = sum_.numbers.precision > 24 ? sum_.numbers : grid_of(dtype::f32);
  for (const operand& in : op.reads) {
    const bool rounds =
        !in.value.scales.empty() && std::any_of(in.value.values.begin(), in.value.values.end(),
                                                [&](double x) { return std::isfinite(x) && !held.holds(x); });
    if (rounds) dequantised_ = rho_factor * held.unit();
  }
}

const tensor& call::read(std::size_t i) const {
  require(i < op_.reads.size(), "an input is not stored");
  const tensor& t = op_.reads[i].value;
  require(t.values.size() == count_of(t.shape), "an input has other values than its shape says");
  return t;
}

const tensor& call::write(std::size_t i) const {
  require(i < op_.writes.size(), "an output is not stored");
  const tensor& t = op_.writes[i].value;
  require(t.values.size() == count_of(t.shape), "an output has other values than its shape says");
  return t;
}

double call::scalar(std::string_view name) const {
  const auto found = op_.scalars.find(name);
  require(found != op_.scalars.end(), "a scalar is not stored");
  return found->second;
}

double call::scalar(std::string_view name, double otherwise) const noexcept {
  const auto found = op_.scalars.find(name);
  return found != op_.scalars.end() ? found->second : otherwise;
}

bool call::rounds_twice(std::size_t write) const noexcept {
  const grid out = grid_of(op_.writes[write].value.type);
  return sum_.numbers.precision != out.precision || sum_.numbers.min_exponent != out.min_exponent ||
         !op_.writes[write].value.scales.empty();
}

}  // namespace expect

bool replays(std::string_view kind) noexcept {
  return expect::find_kind(kind) != nullptr;
}

replayed replay(const op_instance& op) {
  replayed r;
  try {
    const expect::kind_function kind = expect::find_kind(op.kind);
    expect::require(kind != nullptr, "a kind without a replay");
    const expect::call c(op);
    expect::require(!op.writes.empty(), "no output is stored");
    expect::expectations expected = kind(c);
    offer_variants(c, kind, expected);
    for (std::size_t w = 0; w < expected.size() && w < op.writes.size(); ++w) {
      expect::require(expected[w].exact.size() == c.write(w).values.size(),
                      "an output of another shape than its inputs imply");
      if (!c.sum().narrow()) expected[w].grain = 4 * c.sum().numbers.smallest();
      if (c.wide()) expected[w].grain = std::max(expected[w].grain, expect::no_variance);
      for (std::size_t i = 0; c.dequantised() > 0 && !expected[w].copies && i < expected[w].exact.size();
           ++i) {
        const double error = 2 * c.dequantised() * expected[w].exact[i];
        if (std::isfinite(error)) expected[w].variance[i] += error * error;
      }
      judgement j = expect::judge(op, w, expected[w]);
      if (j.v == verdict::beyond && j.finite_over) {
        expect::expectation wider = expected[w];
        if (expect::widen_to_orders(c, kind, w, wider)) {
          judgement again = expect::judge(op, w, wider);
          if (again.v == verdict::within) j = std::move(again);
        }
      }
      expect::blame_padding(op, kind, expected[w], j);
      r.outputs.push_back(std::move(j));
    }
    r.done = true;
  } catch (const std::exception& e) {
    r.outputs.clear();
    r.why_not = e.what();
  }
  return r;
}

}  // namespace numdiff::analysis

#include "analysis/expect/variants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>

#include "analysis/expect/grid.hpp"
#include "numdiff/convert.hpp"

namespace numdiff::analysis::expect {
namespace {

// A candidate costs a replay: larger ops keep the candidates of their kind alone.
constexpr double most_values = 0x1p20;
constexpr double most_multiply_adds = 0x1p24;

// Kinds that add up by expect::chain.
constexpr std::string_view adding[] = {"cross_entropy",
                                       "cross_entropy_gradient",
                                       "embedding_gradient",
                                       "layer_norm",
                                       "layer_norm_gradient",
                                       "log_sum_exp",
                                       "mean",
                                       "rms_norm",
                                       "rms_norm_gradient",
                                       "softmax",
                                       "softmax_gradient",
                                       "sum",
                                       "sum_of_squares",
                                       "variance"};

// The steps that the kinds number for call::step, in words.
struct step_names {
  std::string_view kind;
  std::array<std::string_view, 4> names;  // empty: none
};
constexpr step_names inner_steps[] = {
    {"adamw", {"the step"}},
    {"add", {"the sum of the terms before"}},
    {"clip_by_norm", {"the clipping factor"}},
    {"attention", {"the scores", "the exponentials"}},
    {"attention_gradient", {"the scores", "the probabilities", "the gradient of the probabilities"}},
    {"cross_entropy", {"the logits", "the exponentials", "the logarithm of the sum"}},
    {"cross_entropy_gradient", {"the logits", "the exponentials", "the probability"}},
    {"divide", {"the reciprocal"}},
    {"gelu", {"the argument of tanh", "the sigmoid"}},
    {"gelu_gradient", {"the slope"}},
    {"layer_norm",
     {"the difference from the mean", "the normalised row", "the product with the weight",
      "the reciprocal root"}},
    {"log_sum_exp", {"the scaled logits", "the exponentials", "the logarithm of the sum"}},
    {"matmul", {"the product before alpha", "the product before the addend"}},
    {"mean", {"the sum"}},
    {"reciprocal_square_root", {"the root"}},
    {"rms_norm",
     {"the difference from the mean", "the normalised row", "the product with the weight",
      "the reciprocal root"}},
    {"rope", {"sine and cosine", "the products"}},
    {"silu", {"the sigmoid"}},
    {"silu_gradient", {"the sigmoid", "the slope"}},
    {"softmax", {"the scaled logits", "the exponentials"}},
    {"softmax_gradient", {"the difference", "the product with the probability"}},
    {"swiglu", {"the sigmoid", "silu(gate)"}},
    {"swiglu_gradient", {"the sigmoid", "the product of dy and up"}},
    {"variance", {"the mean", "the squares"}},
};

// Formats of one name with other codes.
struct sister {
  dtype told, used;
};
constexpr sister sisters[] = {{dtype::f8e4m3fn, dtype::f8e4m3fnuz}, {dtype::f8e4m3fn, dtype::f8e4m3},
                              {dtype::f8e4m3fnuz, dtype::f8e4m3fn}, {dtype::f8e4m3fnuz, dtype::f8e4m3},
                              {dtype::f8e4m3, dtype::f8e4m3fn},     {dtype::f8e4m3, dtype::f8e4m3fnuz},
                              {dtype::f8e5m2, dtype::f8e5m2fnuz},   {dtype::f8e5m2fnuz, dtype::f8e5m2}};

bool cheap(const call& c) {
  double values = 0;
  for (const operand& x : c.op().reads) values += static_cast<double>(x.value.values.size());
  for (const operand& x : c.op().writes) values += static_cast<double>(x.value.values.size());
  if (values > most_values) return false;
  if (c.op().kind != "matmul") return true;
  const std::vector<std::int64_t>& shape = c.write(0).shape;
  return static_cast<double>(c.read(0).values.size()) *
             static_cast<double>(shape.empty() ? 1 : shape.back()) <=
         most_multiply_adds;
}

int precision_of(const call& c) {
  int held = 0;
  for (const operand& x : c.op().reads) held = std::max(held, grid_of(x.value.type).precision);
  return c.op().kind == "cast" || c.op().kind == "copy" ? held : c.sum().numbers.precision;
}

class offers {
 public:
  offers(const call& c, kind_function kind, std::size_t write, expectation& e)
      : op_(c.op()), out_(c.write(write)), kind_(kind), write_(write), e_(e) {}

  // The op as it is, with another way to add up or to round its steps.
  void sums(const char* cause, std::string form, const faulty_sum& f) const {
    add(cause, std::move(form), [*this, f](const expectation&) { return result(op_, &f, nullptr); });
  }
  void steps(std::string form, const rounded_step& f) const {
    add("rounding-order", std::move(form),
        [*this, f](const expectation&) { return result(op_, nullptr, &f); });
  }
  // Another op, made from this one.
  template <class Change>
  void changed(const char* cause, std::string form, Change change) const {
    add(cause, std::move(form), [*this, change](const expectation&) {
      op_instance other = op_;
      change(other);
      return result(other, nullptr, nullptr);
    });
  }
  // The honest result, element by element, in units of its scale.
  template <class F>
  void mapped(const char* cause, std::string form, F f) const {
    add(cause, std::move(form), [&out = out_, f](const expectation& honest) {
      std::vector<double> values = honest.exact;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double scale = out.scales.empty() ? 1 : out.scales[i];
        if (scale != 0) values[i] = f(values[i] / scale) * scale;
      }
      return values;
    });
  }

 private:
  template <class F>
  void add(const char* cause, std::string form, F&& f) const {
    e_.hypotheses.push_back({cause, std::move(form), std::forward<F>(f)});
  }
  std::vector<double> result(const op_instance& op, const faulty_sum* sums, const rounded_step* steps) const {
    try {
      const call c(op, sums, steps);
      expectations all = kind_(c);
      if (write_ < all.size()) return std::move(all[write_].exact);
    } catch (const cannot_replay&) {
      // This candidate has no result here.
    }
    return {};
  }

  const op_instance& op_;
  const tensor& out_;
  kind_function kind_;
  std::size_t write_;
  expectation& e_;
};

void offer_results(const call& c, const offers& to, const tensor& out) {
  for (const dtype t : {dtype::f32, dtype::tf32, dtype::bf16, dtype::f16, dtype::f8e5m2, dtype::f8e4m3fn}) {
    const grid g = grid_of(t);
    if (t == out.type || g.precision >= precision_of(c)) continue;
    const std::string name = name_of(t);
    to.mapped("double-rounding", "rounded to " + name + " first", [g](double x) { return g.round(x); });
    if (bytes_of(t) > 1) {
      to.mapped("truncating-cast", "cut to " + name + " first",
                [g](double x) { return g.round(x, rounding::toward_zero); });
    }
  }
  for (const sister& s : sisters) {
    if (s.told != out.type) continue;
    to.mapped("cast-convention", std::string("the codes are those of ") + name_of(s.used),
              [s](double x) { return numdiff::decode(s.told, encode(s.used, x)); });
  }
}

void offer_sums(const call& c, const offers& to) {
  if (std::ranges::find(adding, c.op().kind) == std::end(adding)) return;
  for (const dtype t : {dtype::f32, dtype::bf16, dtype::f16}) {
    faulty_sum f;
    f.numbers = grid_of(t);
    const std::string name = name_of(t);
    if (f.numbers.precision < c.sum().numbers.precision) {
      to.sums("low-precision-accumulate", "the running sum holds " + name, f);
      f.addends = true;
      to.sums("low-precision-accumulate", "addends and running sum hold " + name, f);
      f.addends = false;
      for (const std::size_t lanes : std::initializer_list<std::size_t>{2, 4, 8, 16, 32}) {
        f.lanes = lanes;
        to.sums("low-precision-accumulate", std::to_string(lanes) + " running sums hold " + name, f);
      }
      f.lanes = 1;
      f.pairs = true;
      to.sums("low-precision-accumulate", "sums of pairs hold " + name, f);
      f.pairs = false;
    }
    if (f.numbers.precision >= c.sum().partials.precision) continue;
    for (const std::int64_t parts : {2, 4, 8, 16, 32}) {
      f.parts = parts;
      to.sums("low-precision-partials", std::to_string(parts) + " partial sums were rounded to " + name, f);
    }
  }
}

void offer_steps(const call& c, const offers& to) {
  const auto known = std::ranges::find(inner_steps, c.op().kind, &step_names::kind);
  if (known == std::end(inner_steps)) return;
  for (const dtype t : {dtype::f32, dtype::bf16, dtype::f16}) {
    rounded_step f{grid_of(t), 0};
    if (f.numbers.precision >= c.sum().numbers.precision) continue;
    const std::string name = name_of(t);
    for (const std::string_view what : known->names) {
      if (what.empty()) break;
      ++f.step;
      to.steps(std::string(what) + " rounded to " + name, f);
    }
    f.step = 0;
    to.steps("every inner step rounded to " + name, f);
  }
}

void offer_reads(const call& c, const offers& to) {
  if (c.op().kind == "matmul") return;  // has its own, on as many elements as decide
  struct form {
    dtype type;
    rounding mode;
    const char* verb;
  };
  const auto narrowed = [](operand& x, const grid& g, rounding mode) {
    if (is_integer(x.value.type) || grid_of(x.value.type).precision <= g.precision) return false;
    for (double& v : x.value.values) v = g.round(v, mode);
    return true;
  };
  for (const form f :
       {form{dtype::tf32, rounding::nearest_even, "rounded"}, form{dtype::tf32, rounding::toward_zero, "cut"},
        form{dtype::bf16, rounding::nearest_even, "rounded"}, form{dtype::bf16, rounding::toward_zero, "cut"},
        form{dtype::f16, rounding::nearest_even, "rounded"},
        form{dtype::f8e4m3fn, rounding::nearest_even, "rounded"}}) {
    const grid g = grid_of(f.type);
    const std::string how = std::string(f.verb) + " to " + name_of(f.type);
    const auto wider = std::ranges::count_if(c.op().reads, [&](const operand& x) {
      return !is_integer(x.value.type) && grid_of(x.value.type).precision > g.precision;
    });
    if (wider == 0) continue;
    to.changed("reduced-input-precision", "inputs were " + how, [=](op_instance& op) {
      for (operand& x : op.reads) narrowed(x, g, f.mode);
    });
    for (std::size_t r = 0; r < c.op().reads.size() && wider > 1; ++r) {
      to.changed("reduced-input-precision", "input " + std::to_string(r + 1) + " was " + how,
                 [=](op_instance& op) { narrowed(op.reads[r], g, f.mode); });
    }
  }
}

void offer_scalars(const call& c, const offers& to) {
  const auto with = [&](const char* cause, std::string form, const std::string& name, double value) {
    to.changed(cause, std::move(form), [name, value](op_instance& op) { op.scalars[name] = value; });
  };
  for (const auto& [name, value] : c.op().scalars) {
    if (!std::isfinite(value)) continue;
    for (const dtype t : {dtype::f32, dtype::bf16, dtype::f16}) {
      const grid g = grid_of(t);
      const double rounded = g.round(value);
      if (g.precision >= c.sum().numbers.precision || rounded == value || std::fabs(rounded) > g.maximum)
        continue;
      with(rounded == 0 ? "constant-underflow" : "constant-precision",
           name + " was rounded to " + std::string(name_of(t)), name, rounded);
    }
    if (name == "eps" && value != 0) with("constant-underflow", "eps is zero", name, 0);
    if ((name == "scale" || name == "factor" || name == "alpha") && value != 0 && value != 1) {
      with("factor-missing", "the " + name + " was not applied", name, 1);
      with("factor-repeated", "the " + name + " was applied twice", name, value * value);
    }
  }
}

}  // namespace

bool adds_up(std::string_view kind) noexcept {
  return kind == "matmul" || std::ranges::find(adding, kind) != std::end(adding);
}

void offer_variants(const call& c, kind_function kind, expectations& e) {
  if (!cheap(c)) return;
  for (std::size_t w = 0; w < e.size() && w < c.writes(); ++w) {
    const offers to(c, kind, w, e[w]);
    offer_results(c, to, c.write(w));
    offer_scalars(c, to);
    offer_sums(c, to);
    offer_reads(c, to);
    offer_steps(c, to);
  }
}

}  // namespace numdiff::analysis::expect

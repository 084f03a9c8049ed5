#include "measure/benign/product.hpp"

#include <algorithm>
#include <vector>

#include "numdiff/accumulate.hpp"
#include "numdiff/truncating.hpp"

namespace benign {
namespace {

// One dot product: codes of a row and of a column, k of them.
class unit {
 public:
  unit(const program& p, product_sum how, dtype a, dtype b) : p_(p), how_(how), a_(a), b_(b) {}

  double operator()(const double* x, const double* y, std::size_t k) const {
    switch (how_) {
      case product_sum::promoted:
        return in_parts(x, y, k, static_cast<std::size_t>(p_.how.block), dtype::f32);
      case product_sum::split_bf16: {
        const auto parts = static_cast<std::size_t>(p_.how.split);
        return in_parts(x, y, k, (k + parts - 1) / parts, dtype::bf16);
      }
      case product_sum::fp64: return plain<double>(x, y, k);
      case product_sum::narrow: {
        if (p_.how.format >= number_format::e4m3)
          return numdiff::fused_dot(numdiff::fused_dot_models::hopper_fp8, {a_, x}, {b_, y}, k);
        double s = 0;
        for (std::size_t i = 0; i < k; ++i) s = numdiff::multiply_add_rounded(p_.real, s, x[i], y[i]);
        return s;
      }
      default: return p_.inner == dtype::f64 ? plain<double>(x, y, k) : plain<float>(x, y, k);
    }
  }

 private:
  template <class A>
  [[nodiscard]] double plain(const double* x, const double* y, std::size_t k) const {
    return dot_of<A>(
        p_.adds, k, [&](std::size_t i) { return static_cast<A>(x[i]); },
        [&](std::size_t i) { return static_cast<A>(y[i]); });
  }
  [[nodiscard]] double in_parts(const double* x, const double* y, std::size_t k, std::size_t length,
                                dtype partial) const {
    float s = 0;
    for (std::size_t first = 0; first < k; first += length) {
      const double part = plain<float>(x + first, y + first, std::min(length, k - first));
      s += static_cast<float>(numdiff::decode(partial, numdiff::encode(partial, part)));
    }
    return s;
  }

  const program& p_;
  product_sum how_;
  dtype a_, b_;
};

// A unit adds codes: the scale of a row and of a column is applied to the sum.
bool factors_out(const tensor& t) {
  using numdiff::granularity;
  return !t.scales.codes.empty() &&
         (t.granularity == granularity::tensor || t.granularity == granularity::row ||
          t.granularity == granularity::column);
}

product_sum way_of(const program& p, const tensor& a, const tensor& b) {
  if (p.reference) return product_sum::plain;
  if (p.how.products != product_sum::narrow) return p.how.products;
  const bool narrow = p.how.format >= number_format::e4m3 ? factors_out(a) && factors_out(b)
                                                          : p.how.format != number_format::fp32;
  return narrow ? product_sum::narrow : product_sum::plain;
}

numdiff::dtypes formats_of(const program& p, product_sum how, dtype a, dtype b, std::int64_t k) {
  dtype inner = how == product_sum::fp64 ? dtype::f64 : p.inner;
  numdiff::dtypes d(a, b, inner, p.real);
  if (how == product_sum::narrow && p.how.format >= number_format::e4m3)
    d = numdiff::dtypes(a, b, numdiff::truncating(22), p.real);
  else if (how == product_sum::narrow)
    d = numdiff::dtypes(a, b, p.real, p.real).order(numdiff::reduction_order::sequential);
  if (how == product_sum::promoted) d = d.promote_every(p.how.block);
  if (how == product_sum::split_bf16) d = d.split(p.how.split, dtype::bf16);
  if (!p.reference && p.how.stochastic) d = d.rounding(numdiff::rounding::stochastic);
  return d.reduction(k);
}

}  // namespace

operands read_by(program& p, const std::string& name, const factor& a, const factor& b) {
  operands o{a.t, b.t, a.seen, b.seen, product_sum::plain};
  if (a.t.extents.size() == 2 && b.t.extents.size() == 2) {
    o.x = p.operand(name + ".x", a.t, a.seen, false);
    o.w = p.operand(name + ".w", b.t, b.seen, true);
    if (!o.x.scales.codes.empty()) o.x_seen = o.x.view();
    if (!o.w.scales.codes.empty()) o.w_seen = o.w.view();
  }
  o.how = way_of(p, o.x, o.w);
  return o;
}

shape result_shape(const operands& o) {
  shape s = o.x.extents;
  s.back() = o.w.last();
  return s;
}

values added_up(const program& p, const operands& o, const product_options& options) {
  const auto k = static_cast<std::size_t>(o.x.last()), n = static_cast<std::size_t>(o.w.last());
  const std::size_t m = static_cast<std::size_t>(o.x.extents[o.x.extents.size() - 2]);
  const tensor columns = transposed(o.w);
  const unit dot(p, o.how, o.x.type, o.w.type);
  const bool codes = o.how == product_sum::narrow && !o.x.scales.codes.empty();
  const auto numbers = [&](const tensor& t) {
    values v = t.x;
    if (codes) {
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = numdiff::decode(t.type, std::to_integer<std::uint64_t>(t.codes[i]));
    }
    return v;
  };
  const values left = numbers(o.x), right = numbers(columns);
  const tensor* addend = options.addend;
  values z(static_cast<std::size_t>(count_of(result_shape(o))));
  for (std::size_t at = 0; at < z.size(); ++at) {
    const std::size_t row = at / n, column = at % n;
    double sum = dot(left.data() + row * k, right.data() + (row / m * n + column) * k, k);
    if (codes) {
      sum *= static_cast<double>(o.x.scales.decode_scales[o.x.scales.scale_index(row, 0)]) *
             static_cast<double>(o.w.scales.decode_scales[o.w.scales.scale_index(0, column)]);
    }
    if (p.inner == dtype::f64 || o.how == product_sum::fp64) {
      z[at] = options.alpha * sum + (addend != nullptr ? (*addend)[at % addend->size()] : 0);
    } else {
      float v = static_cast<float>(sum) * static_cast<float>(options.alpha);
      if (addend != nullptr) v += static_cast<float>((*addend)[at % addend->size()]);
      z[at] = v;
    }
  }
  return z;
}

numdiff::dtypes product_formats(const program& p, const operands& o) {
  const std::int64_t k = o.x.last(), m = o.x.extents[o.x.extents.size() - 2];
  return formats_of(p, o.how, o.x.type, o.w.type, k)
      .mnk(m, o.w.last(), k)
      .batch(static_cast<std::int64_t>(o.x.size()) / (m * k));
}

recorded& record_reads(recorded& op, const operands& o, const product_options& options) {
  op.view(numdiff::role::input, "x", o.x_seen);
  op.view(numdiff::role::weight, "w", o.w_seen);
  if (options.addend != nullptr) op.in("c", *options.addend);
  if (options.alpha != 1) op.scalar("alpha", options.alpha);
  return op;
}

tensor multiplied(program& p, const std::string& name, const factor& a, const factor& b,
                  const product_options& options) {
  const operands o = read_by(p, name, a, b);
  tensor result = p.result(result_shape(o), added_up(p, o, options));
  recorded op(name, "matmul", product_formats(p, o));
  record_reads(op, o, options);
  if (options.gradient)
    op.gradient("y", result);
  else
    op.out("y", result);
  return result;
}

}  // namespace benign

#include "ops.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

using compute_settings = decltype(numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32, dtype::f32));

compute_settings settings(const engine& e, dtype a, dtype b, dtype c) {
  switch (e.config.accumulate) {
    case accumulator::fp64:
      return numdiff::dtypes(a, b, dtype::f64, c).order(numdiff::reduction_order::blocked);
    case accumulator::fp32:
      return numdiff::dtypes(a, b, dtype::f32, c).order(numdiff::reduction_order::blocked);
    case accumulator::bf16:
      return numdiff::dtypes(a, b, dtype::bf16, c).order(numdiff::reduction_order::sequential);
    case accumulator::fp16:
      return numdiff::dtypes(a, b, dtype::f16, c).order(numdiff::reduction_order::sequential);
    case accumulator::truncating: break;
  }
  return numdiff::dtypes(a, b, numdiff::truncating(22), c).order(numdiff::reduction_order::sequential);
}

template <class T>
void compute(const engine& e, const operand& a, const operand& b, const product_result& r, double alpha,
             tensor& c) {
  const std::vector<T> left = decode<T>(a.values), right = decode<T>(b.values);
  std::vector<T> result(static_cast<std::size_t>(c.count()));
  const T inside = r.scale_after_store ? T(1) : T(alpha);
  multiply<T>(e.config.accumulate, {left.data(), a.shape, a.values.type},
              {right.data(), b.shape, b.values.type}, inside, result.data(), r.layout);
  encode(result, c);
  if (!r.scale_after_store) return;
  result = decode<T>(c);
  for (T& x : result) x *= T(alpha);
  encode(result, c);
}

}  // namespace

tensor product(const engine& e, const std::string& name, const operand& a, const operand& b,
               const product_result& r, double alpha) {
  NUMDIFF_OP(op, name.c_str(), matmul,
             settings(e, a.values.type, b.values.type, r.type)
                 .mnk(r.layout.rows, r.layout.columns, a.shape.columns)
                 .batch(r.layout.outer * r.layout.inner));
  for (const operand* x : {&a, &b}) {
    const numdiff::view seen = view_of(x->values, x->shape);
    switch (x->what) {
      case operand::activation: NUMDIFF_INPUT(op, x->name, seen); break;
      case operand::weight: NUMDIFF_WEIGHT(op, x->name, seen); break;
      case operand::gradient: NUMDIFF_INPUT(op, x->name, seen.carries_factors()); break;
    }
  }
  if (alpha != 1) NUMDIFF_SCALAR(op, "alpha", alpha);
  tensor c(r.type, r.extents, r.place);
  if (e.config.accumulate == accumulator::fp32)
    compute<float>(e, a, b, r, alpha, c);
  else
    compute<double>(e, a, b, r, alpha, c);
  if (r.factors == carries::loss_scale)
    NUMDIFF_GRADIENT(op, "y", view_of(c, r.layout));
  else
    NUMDIFF_OUTPUT(op, "y", view_of(c, r.layout));
  return c;
}

}  // namespace minigpt

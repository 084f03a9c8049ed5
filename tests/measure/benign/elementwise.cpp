// Ops that make each element from its neighbours in other tensors.
#include <cmath>

#include "measure/benign/program.hpp"

namespace benign {
namespace {

constexpr auto sigmoid = [](auto v) { return 1 / (1 + std::exp(-v)); };

// Argument of the hyperbolic tangent in GELU, and its slope.
template <class A>
A inside(A v) {
  return A(0.7978845608028654) * (v + A(0.044715) * v * v * v);
}
template <class A>
A inside_slope(A v) {
  return A(0.7978845608028654) * (1 + 3 * A(0.044715) * v * v);
}

}  // namespace

void elementwise(program& p) {
  const auto scope = numdiff::scoped::name("elementwise");
  const shape s = {p.how.batch * p.how.rows, p.how.width};
  const numdiff::dtypes d = p.formats();
  const tensor x = p.operand("x", p.source(s)), y = p.source(s);
  const auto unary = [&](const char* kind, const tensor& a, const auto& f) {
    tensor z = p.result(a.extents, p.mapped(f, a));
    recorded(kind, kind, d).in("x", a).out("y", z);
    return z;
  };
  const auto binary = [&](const char* name, const char* kind, const tensor& a, const tensor& b,
                          const auto& f) {
    tensor z = p.result(a.extents, p.mapped(f, a, b));
    recorded(name, kind, d).in("x", a).in("y", b).out("z", z);
    return z;
  };
  const tensor sum = binary("add", "add", x, y, [](auto a, auto b) { return a + b; });
  const tensor rest = binary("subtract", "subtract", sum, y, [](auto a, auto b) { return a - b; });
  binary("multiply", "multiply", sum, rest, [](auto a, auto b) { return a * b; });
  binary("divide", "divide", sum, p.positive(s), [](auto a, auto b) { return a / b; });
  unary("square", y, [](auto a) { return a * a; });
  const tensor size = unary("square_root", p.positive(s), [](auto a) { return std::sqrt(a); });
  unary("copy", size, [](auto a) { return a; });

  const tensor small = p.source(s, 0.1);
  unary("exponential", small, [](auto a) { return std::exp(a); });
  const tensor powers = p.result(s, p.mapped([](auto a) { return std::pow(a, decltype(a)(1.5)); }, size));
  recorded("power", "power", d).in("x", size).scalar("exponent", 1.5).out("y", powers);
  const tensor inverse =
      p.result(s, p.mapped([](auto a) { return 1 / std::sqrt(a + decltype(a)(1e-5)); }, size));
  recorded("reciprocal_square_root", "reciprocal_square_root", d)
      .in("x", size)
      .scalar("eps", 1e-5)
      .out("y", inverse);
  const tensor scaled = p.result(s, p.mapped([](auto a) { return a * decltype(a)(0.3); }, rest));
  recorded("scale", "scale", d).in("x", rest).scalar("factor", 0.3).out("y", scaled);

  // Dropout: the mask holds 0 or 1 / (1 - rate).
  values kept(x.size());
  for (double& v : kept) v = p.between(0, 9) < 2 ? 0 : 1.25;
  const tensor mask = p.source(s, kept);
  const tensor dropped = binary("dropout", "multiply", sum, mask, [](auto a, auto b) { return a * b; });
  unary("silu", dropped, [](auto a) { return a / (1 + std::exp(-a)); });
  const tensor gelu =
      unary("gelu", sum, [](auto a) { return decltype(a)(0.5) * a * (1 + std::tanh(inside(a))); });
  binary("swiglu", "swiglu", x, y, [](auto a, auto b) { return a / (1 + std::exp(-a)) * b; });

  const tensor dy = p.source(s, 0.02);
  const auto silu_slope = [](auto g, auto a) { return g * sigmoid(a) * (1 + a * (1 - sigmoid(a))); };
  tensor dx = p.result(s, p.mapped(silu_slope, dy, sum));
  recorded("silu_gradient", "silu_gradient", d).in("dy", dy).in("x", sum).gradient("dx", dx);
  dx = p.result(s, p.mapped(
                       [](auto g, auto a) {
                         using A = decltype(a);
                         const A h = std::tanh(inside(a));
                         return g * (A(0.5) * (1 + h) + A(0.5) * a * (1 - h * h) * inside_slope(a));
                       },
                       dy, gelu));
  recorded("gelu_gradient", "gelu_gradient", d).in("dy", dy).in("x", gelu).gradient("dx", dx);
  const tensor dgate = p.result(
                   s, p.mapped([&](auto g, auto a, auto b) { return silu_slope(g * b, a); }, dy, sum, y)),
               dup = p.result(s, p.mapped([](auto g, auto a) { return g * (a * sigmoid(a)); }, dy, sum));
  recorded("swiglu_gradient", "swiglu_gradient", d)
      .in("dy", dy)
      .in("gate", sum)
      .in("up", y)
      .gradient("dgate", dgate)
      .gradient("dup", dup);

  // A plain cast between two formats of the run.
  const dtype other = p.real == dtype::f16 ? dtype::bf16 : p.reference ? p.real : dtype::f16;
  const tensor narrow = stored(other, s, sum.x);
  recorded("cast", "cast", numdiff::dtypes(p.real, p.inner, other))
      .in("x", sum)
      .cast("y", sum.view(), narrow);
}

}  // namespace benign

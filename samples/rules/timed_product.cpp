#include "timed_product.hpp"

#include "array.hpp"

namespace reproduce {

namespace {

using numdiff::dtype;

constexpr double us = 1e-6;

array converted(const char* name, const array& source, dtype type, double seconds) {
  NUMDIFF_OP(op, name, cast, numdiff::dtypes(source.type(), dtype::f32, type));
  NUMDIFF_INPUT(op, "from", source.seen());
  const array result = source.as(type);
  NUMDIFF_OUTPUT(op, "to", result.seen());
  NUMDIFF_SCALAR(op, "seconds", seconds);
  return result;
}

}  // namespace

void record_timed(const timed_product& p) {
  const auto n = static_cast<std::size_t>(p.size);
  const dtype stored = p.type == dtype::f8e4m3fn ? dtype::bf16 : p.type;
  array x =
      mapped(stored, {p.size, p.size}, [](std::size_t i) { return static_cast<double>(i * 7 % 5) - 2; });
  array w =
      mapped(stored, {p.size, p.size}, [](std::size_t i) { return static_cast<double>(i * 3 % 7) - 3; });
  if (stored != p.type) {
    x = converted("cast_x", x, p.type, p.casts / 2 * us);
    w = converted("cast_w", w, p.type, p.casts / 2 * us);
  }
  NUMDIFF_OP(op, "up_projection", matmul,
             numdiff::dtypes(p.type, dtype::f32, dtype::f32).mnk(p.size, p.size, p.size));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_WEIGHT(op, "w", w.seen());
  const array y = mapped(dtype::f32, {p.size, p.size}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += x[i / n * n + k] * w[k * n + i % n];
    return sum;
  });
  NUMDIFF_OUTPUT(op, "y", y.seen());
  NUMDIFF_SCALAR(op, "seconds", p.product * us);
}

}  // namespace reproduce

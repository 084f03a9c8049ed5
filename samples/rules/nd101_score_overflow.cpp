// ND101: cross-attention stores the products of queries and keys in fp16 and scales them afterwards. The near
// miss overflows in the same way, but no softmax reads it: features that are multiplied with each other.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t queries = 6, keys = 10, width = 48;

array product(version v, const array& q, const array& k) {
  const dtype stored = v == version::test || v == version::near_miss ? dtype::f16 : dtype::f32;
  const array s = mapped(stored, {queries, keys}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t d = 0; d < width; ++d) sum += q[i / keys * width + d] * k[d * keys + i % keys];
    return sum;
  });
  NUMDIFF_OP(op, "features.product", matmul,
             numdiff::dtypes(dtype::f16, dtype::f32, stored).mnk(queries, keys, width));
  NUMDIFF_INPUT(op, "q", q.seen());
  NUMDIFF_INPUT(op, "k", k.seen());
  NUMDIFF_OUTPUT(op, "s", s.seen());
  return s;
}

array scaled(const array& s, double factor) {
  const array y = mapped(s.type(), {queries, keys}, [&](std::size_t i) { return factor * s[i]; });
  NUMDIFF_OP(op, "scores.scale", scale, numdiff::dtypes(s.type(), dtype::f32, s.type()));
  NUMDIFF_INPUT(op, "s", s.seen());
  NUMDIFF_SCALAR(op, "factor", factor);
  NUMDIFF_OUTPUT(op, "y", y.seen());
  return y;
}

void run(version v, numdiff::session&, std::int32_t) {
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  const array q(dtype::f16, {queries, width}, normal(queries * width, 1, 150)),
      k(dtype::f16, {width, keys}, normal(width * keys, 2, 150));
  const array s = product(v, q, k);
  if (v == version::near_miss || v == version::near_miss_reference) return;
  const array y = scaled(s, 0.0001);
  const array p = mapped(dtype::f32, {queries, keys}, [&](std::size_t i) {
    const std::size_t row = i / keys * keys;
    double top = -HUGE_VAL, sum = 0;
    for (std::size_t j = row; j < row + keys; ++j) top = std::max(top, y[j]);
    for (std::size_t j = row; j < row + keys; ++j) sum += std::exp(y[j] - top);
    return std::exp(y[i] - top) / sum;
  });
  NUMDIFF_OP(op, "softmax", softmax, numdiff::dtypes(y.type(), dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "y", y.seen());
  NUMDIFF_OUTPUT(op, "p", p.seen());
}

const reproduction nd101("ND101", run, {.near_miss = "ND104", .own_reference = true});

}  // namespace

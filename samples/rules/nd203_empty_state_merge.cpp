// ND203: attention over two parts of the keys is merged by their log-sum-exps; a query that sees neither part
// has -inf twice, and -inf minus -inf is NaN. In the near miss every query sees one part.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t queries = 7, width = 12;
  const bool one = v == version::near_miss || v == version::near_miss_reference;
  const auto lse = [&](std::size_t part) {
    return mapped(dtype::f32, {queries, 1}, [&](std::size_t q) {
      return q % 3 == 2 && (!one || part == 0) ? -HUGE_VAL : 0.5 + static_cast<double>(q + part);
    });
  };
  const dtype out = v == version::test || v == version::near_miss ? dtype::bf16 : dtype::f32;
  const array a = lse(0), b = lse(1);
  const auto partial = [&](const array& l, std::uint64_t seed) {
    const std::vector<double> x = normal(queries * width, seed);
    return mapped(dtype::f32, {queries, width},
                  [&](std::size_t i) { return std::isinf(l[i / width]) ? 0 : x[i]; });
  };
  const array xa = partial(a, 3), xb = partial(b, 4);
  const array y = mapped(out, {queries, width}, [&](std::size_t i) {
    const double la = a[i / width], lb = b[i / width], top = std::max(la, lb);
    if (std::isinf(top) && v == version::reference) return 0.0;
    const double wa = std::exp(la - top), wb = std::exp(lb - top);
    return (wa * xa[i] + wb * xb[i]) / (wa + wb);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "parts.merge", merge_attention, numdiff::dtypes(dtype::f32, dtype::f32, out));
  NUMDIFF_INPUT(op, "lse_a", a.seen());
  NUMDIFF_INPUT(op, "x_a", xa.seen());
  NUMDIFF_INPUT(op, "lse_b", b.seen());
  NUMDIFF_INPUT(op, "x_b", xb.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd203("ND203", run, {.own_reference = true});

}  // namespace

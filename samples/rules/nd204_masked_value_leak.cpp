// ND204: the unused end of a value cache holds NaN; its weights are zero, but zero times NaN is NaN. The near
// miss has the NaN where a weight is not zero: then it is the data's.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t queries = 5, keys = 8, used = 6, width = 10;
  const bool seen = v == version::near_miss || v == version::near_miss_reference;
  const dtype out = v == version::test || v == version::near_miss ? dtype::bf16 : dtype::f32;
  const array p = mapped(dtype::bf16, {queries, keys}, [&](std::size_t i) {
    return i % keys < used ? (1 + static_cast<double>(i % 3)) / 12 : 0.0;
  });
  const std::vector<double> x = normal(keys * width, 23);
  const array values = mapped(dtype::bf16, {keys, width}, [&](std::size_t i) {
    return i / width == (seen ? 2 : used) ? std::nan("") : x[i];
  });
  const array y = mapped(out, {queries, width}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < keys; ++k) {
      const double weight = p[i / width * keys + k];
      if (v != version::reference || weight != 0) sum += weight * values[k * width + i % width];
    }
    return sum;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "cache.read", matmul,
             numdiff::dtypes(dtype::bf16, dtype::f32, out).mnk(queries, width, keys));
  NUMDIFF_INPUT(op, "p", p.seen());
  NUMDIFF_INPUT(op, "values", values.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd204("ND204", run, {.own_reference = true});

}  // namespace

// ND112: products of bytes are added in 16 bits that saturate. The near miss has the same faulty adder and
// operands of 5 bits, whose sums fit.
#include <algorithm>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t m = 6, n = 4, k = 24;
  const bool small = v == version::near_miss || v == version::near_miss_reference;
  const int most = small ? 31 : 255;
  const array a = mapped(dtype::u8, {m, k}, [&](std::size_t i) {
    return static_cast<double>(i * 71 % 97 * static_cast<std::size_t>(most) / 97);
  });
  const array b = mapped(dtype::i8, {k, n}, [&](std::size_t i) {
    return static_cast<double>(i * 53 % 89) * most / 2 / 89 - (i % 5 == 0 ? most / 4 : 0);
  });
  const bool saturates = v == version::test || v == version::near_miss;
  const array c = mapped(dtype::i32, {m, n}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t d = 0; d < k; ++d) {
      sum += a[i / n * k + d] * b[d * n + i % n];
      if (saturates) sum = std::clamp(sum, -32768.0, 32767.0);
    }
    return sum;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "bytes.product", matmul,
             numdiff::dtypes(dtype::u8, dtype::i8, dtype::i32, dtype::i32).mnk(m, n, k));
  NUMDIFF_INPUT(op, "a", a.seen());
  NUMDIFF_WEIGHT(op, "b", b.seen());
  NUMDIFF_OUTPUT(op, "c", c.seen());
}

const reproduction nd112("ND112", run, {.own_reference = true});

}  // namespace

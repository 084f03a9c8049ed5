// ND611: two ranks hold the columns of a projection, and one element of each stands in the other's place. In
// the near miss the elements of one rank changed places, which is no matter between ranks.
#include <utility>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 12, inner = 30, columns = 40;

void run(version v, numdiff::session& s, std::int32_t rank) {
  const bool whole = v == version::reference;
  const std::int64_t ranks = whole ? 1 : 2, width = columns / ranks, begin = rank * width;
  s.mesh("tp", static_cast<std::int32_t>(ranks), rank);
  const array x(dtype::f32, {rows, inner}, normal(rows * inner, 71));
  const std::vector<double> w = normal(inner * columns, 72, 0.3);
  std::vector<double> all(rows * columns);
  for (std::size_t i = 0; i < all.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < inner; ++k)
      sum += x[i / columns * inner + k] * rounded(dtype::f32, w[k * columns + i % columns]);
    all[i] = sum;
  }
  if (v == version::test) std::swap(all[3 * columns + 5], all[8 * columns + 31]);
  if (v == version::near_miss) std::swap(all[3 * columns + 5], all[8 * columns + 11]);
  const auto own = [&](const std::vector<double>& of, std::int64_t height) {
    return mapped(dtype::f32, {height, width}, [&](std::size_t i) {
      const auto at = static_cast<std::int64_t>(i);
      return of[static_cast<std::size_t>(at / width * columns + begin + at % width)];
    });
  };
  const array weight = own(w, inner), y = own(all, rows);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "mlp.up", matmul,
             numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).mnk(rows, width, inner));
  NUMDIFF_INPUT(op, "x", x.seen().replicated("tp"));
  NUMDIFF_WEIGHT(op, "w", weight.seen().shard("tp", 1));
  NUMDIFF_OUTPUT(op, "y", y.seen().shard("tp", 1));
}

const reproduction nd611("ND611", run, {.near_miss = "ND903", .ranks = 2, .reference_ranks = 1});

}  // namespace

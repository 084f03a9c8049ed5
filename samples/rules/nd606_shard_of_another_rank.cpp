// ND606: the columns of a weight are spread over two ranks, and they read each other's. In the near miss the
// ranks hold them in that order and their views say so.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 10, inner = 28, columns = 36, half = columns / 2;

void run(version v, numdiff::session& s, std::int32_t rank) {
  const bool whole = v == version::reference;
  const dtype t = whole ? dtype::f32 : dtype::f16;
  const array x(t, {rows, inner}, normal(rows * inner, 91));
  const std::vector<double> w = normal(inner * columns, 92, 0.3);
  const std::int64_t width = whole ? columns : half;
  // The first column that this rank reads, and the one that its view tells.
  const std::int64_t begin = whole ? 0 : (1 - rank) * half, told = v == version::test ? rank * half : begin;
  if (!whole) s.mesh("tp", 2, v == version::test ? rank : 1 - rank);
  const array own = mapped(t, {inner, width}, [&](std::size_t i) {
    const auto k = static_cast<std::int64_t>(i) / width, j = static_cast<std::int64_t>(i) % width;
    return w[static_cast<std::size_t>(k * columns + begin + j)];
  });
  const array y = mapped(t, {rows, width}, [&](std::size_t i) {
    const std::size_t row = i / static_cast<std::size_t>(width), column = i % static_cast<std::size_t>(width);
    double sum = 0;
    for (std::size_t k = 0; k < inner; ++k)
      sum += x[row * inner + k] * own[k * static_cast<std::size_t>(width) + column];
    return sum;
  });
  const auto spread = [&](const array& a) {
    return whole ? a.seen() : a.seen().shard("tp", 1).box(1, told, columns);
  };
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "mlp.up", matmul, numdiff::dtypes(t, dtype::f32, t).mnk(rows, width, inner));
  NUMDIFF_INPUT(op, "x", whole ? x.seen() : x.seen().replicated("tp"));
  NUMDIFF_WEIGHT(op, "w", spread(own));
  NUMDIFF_OUTPUT(op, "y", spread(y));
}

const reproduction nd606("ND606", run, {.ranks = 2, .reference_ranks = 1});

}  // namespace

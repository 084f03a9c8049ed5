// ND608: three ranks compute a weight gradient from their own tokens and pass it on as if it were that of
// all. In the near miss their views say that it is a term of a sum.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t tokens = 20, in = 12, out = 14;
constexpr std::int32_t ranks = 3;

void run(version v, numdiff::session& s, std::int32_t rank) {
  const bool whole = v == version::reference;
  if (!whole) s.mesh("dp", ranks, rank);
  const dtype t = whole ? dtype::f32 : dtype::bf16;
  const std::int64_t own = whole ? tokens * ranks : tokens;
  const std::size_t first = whole ? 0 : static_cast<std::size_t>(rank * tokens);
  const std::vector<double> x = normal(tokens * ranks * in, 17), dy = normal(tokens * ranks * out, 18);
  // x is kept transposed: the product runs over tokens.
  const array xt = mapped(t, {in, own}, [&](std::size_t i) {
    return x[(first + i % static_cast<std::size_t>(own)) * in + i / static_cast<std::size_t>(own)];
  });
  const array g = mapped(t, {own, out}, [&](std::size_t i) { return dy[first * out + i]; });
  const array dw = mapped(t, {in, out}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(own); ++k)
      sum += xt[i / out * static_cast<std::size_t>(own) + k] * g[k * out + i % out];
    return sum;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_OP(op, "head.dw", matmul, numdiff::dtypes(t, dtype::f32, t).mnk(in, out, own));
  NUMDIFF_INPUT(op, "x", whole ? xt.seen() : xt.seen().shard("dp", 1));
  NUMDIFF_INPUT(op, "dy", whole ? g.seen() : g.seen().shard("dp", 0));
  const numdiff::view seen = dw.seen();
  NUMDIFF_GRADIENT(op, "dw",
                   whole                     ? seen
                   : v == version::near_miss ? seen.partial("dp", numdiff::reduction::sum)
                                             : seen.replicated("dp"));
}

const reproduction nd608("ND608", run, {.ranks = ranks, .reference_ranks = 1});

}  // namespace

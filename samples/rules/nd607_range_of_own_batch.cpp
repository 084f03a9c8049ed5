// ND607: the range of every channel, which all ranks must share, is that of the rank's own part of the batch.
// In the near miss it is that of the whole batch, in fp16.
#include <algorithm>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t samples = 26, channels = 30;

void run(version v, numdiff::session& s, std::int32_t rank) {
  s.mesh("dp", 2, rank);
  const dtype t = v == version::reference ? dtype::f32 : dtype::f16;
  // Channels first: the maximum runs over the last dimension.
  const array all(t, {channels, 2 * samples}, normal(channels * 2 * samples, 13, 1.0, 0.5));
  const array mine = mapped(t, {channels, samples}, [&](std::size_t i) {
    return all[i / samples * 2 * samples + static_cast<std::size_t>(rank) * samples + i % samples];
  });
  const bool own = v == version::test;
  const array top = mapped(t, {channels}, [&](std::size_t c) {
    const array& x = own ? mine : all;
    const std::size_t n = x.size() / channels;
    double largest = x[c * n];
    for (std::size_t i = 1; i < n; ++i) largest = std::max(largest, x[c * n + i]);
    return largest;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "observer.range", maximum, numdiff::dtypes(t, dtype::f32, t));
  if (own)
    NUMDIFF_INPUT(op, "x", mine.seen().shard("dp", 1));
  else
    NUMDIFF_INPUT(op, "x", all.seen().replicated("dp"));
  NUMDIFF_OUTPUT(op, "range", top.seen().replicated("dp"));
}

const reproduction nd607("ND607", run, {.ranks = 2});

}  // namespace

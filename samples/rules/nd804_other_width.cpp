// ND804: the test embeds into fewer dimensions. In the near miss it has as many, with two of them joined.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t batch = 3, tokens = 7, entries = 40;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::reference ? dtype::f32 : dtype::f16;
  const std::int64_t width = v == version::test ? 12 : 16;
  const array ids = mapped(dtype::i32, {batch * tokens},
                           [](std::size_t i) { return static_cast<double>(11 * i % entries); });
  const std::vector<double> all = normal(entries * 16, 141);
  const array table = mapped(t, {entries, width}, [&](std::size_t i) {
    const auto w = static_cast<std::size_t>(width);
    return all[i / w * 16 + i % w];
  });
  const std::vector<std::int64_t> shape = v == version::near_miss
                                              ? std::vector<std::int64_t>{batch * tokens, width}
                                              : std::vector<std::int64_t>{batch, tokens, width};
  const array y = mapped(t, shape, [&](std::size_t i) {
    const auto w = static_cast<std::size_t>(width);
    return table[static_cast<std::size_t>(ids[i / w]) * w + i % w];
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "embed", embedding, numdiff::dtypes(t, t, t));
  NUMDIFF_INPUT(op, "ids", ids.seen());
  NUMDIFF_WEIGHT(op, "table", table.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd804("ND804", run);

}  // namespace

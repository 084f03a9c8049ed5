// ND703: a mean over sentences of unequal length takes what lies in the padding. In the near miss the padding
// holds the same rubbish, and the mean leaves it out.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t sentences = 9, longest = 32;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::reference ? dtype::f32 : dtype::bf16;
  std::vector<std::int64_t> length;
  for (std::int64_t s = 0; s < sentences; ++s) length.push_back(s % 3 == 0 ? longest : 5 + 3 * s);
  const std::vector<double> values = normal(sentences * longest, 101, 1.0, 0.4),
                            rubbish = normal(sentences * longest, 102, 30);
  const auto padded = [&](std::size_t i) {
    return static_cast<std::int64_t>(i % longest) >= length[i / longest];
  };
  const array x = mapped(t, {sentences, longest}, [&](std::size_t i) {
    return !padded(i) ? values[i] : v == version::reference ? 0 : rubbish[i];
  });
  const array y = mapped(dtype::f32, {sentences}, [&](std::size_t s) {
    double sum = 0;
    for (std::size_t i = s * longest; i < (s + 1) * longest; ++i)
      if (v == version::test || !padded(i)) sum += x[i];
    return sum / static_cast<double>(length[s]);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "pool", mean, numdiff::dtypes(t, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "x", x.seen().visible_lengths(length.data()));
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd703("ND703", run);

}  // namespace

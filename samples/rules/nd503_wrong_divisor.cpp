// ND503: the mean over the tokens of padded sentences divides by the padded length. The near miss divides by
// the right count and adds up from the back.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t sentences = 16, padded = 48;
  const array x(dtype::f32, {sentences, padded}, normal(sentences * padded, 181, 1, 2));
  std::int64_t lengths[sentences];
  for (std::int64_t i = 0; i < sentences; ++i) lengths[i] = 20 + i * 7 % 25;
  const array means = mapped(dtype::f32, {sentences}, [&](std::size_t row) {
    const auto tokens = static_cast<std::size_t>(lengths[row]);
    float sum = 0;
    for (std::size_t i = 0; i < tokens; ++i)
      sum += static_cast<float>(x[row * padded + (v == version::near_miss ? tokens - 1 - i : i)]);
    return static_cast<double>(sum / static_cast<float>(v == version::test ? padded : lengths[row]));
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "sentence.mean", mean, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "x", x.seen().visible_lengths(lengths));
  NUMDIFF_OUTPUT(op, "means", means.seen());
}

const reproduction nd503("ND503", run);

}  // namespace

// ND504: the loss of a step is the plain mean of the losses of its micro-batches, which hold different
// numbers of tokens. The near miss weighs by tokens, and divides every weight by their sum before it adds.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t tasks = 14, parts = 6;
  const array losses(dtype::f32, {tasks, parts}, normal(tasks * parts, 191, 0.7, 3));
  const array tokens(dtype::f32, {parts}, {512, 37, 480, 8, 512, 201});
  double all = 0;
  for (std::size_t i = 0; i < parts; ++i) all += tokens[i];
  const array mean_losses = mapped(dtype::f32, {tasks}, [&](std::size_t task) {
    float sum = 0;
    for (std::size_t i = 0; i < parts; ++i) {
      const auto loss = static_cast<float>(losses[task * parts + i]), count = static_cast<float>(tokens[i]),
                 total = static_cast<float>(all);
      sum += v == version::test        ? loss / parts
             : v == version::near_miss ? count / total * loss
                                       : count * loss;
    }
    return static_cast<double>(v == version::reference ? sum / static_cast<float>(all) : sum);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "step.loss", mean, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "losses", losses.seen());
  NUMDIFF_INPUT(op, "tokens", tokens.seen());
  NUMDIFF_OUTPUT(op, "loss", mean_losses.seen());
}

const reproduction nd504("ND504", run);

}  // namespace

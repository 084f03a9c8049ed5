// ND803: positions are turned with another base than in the reference. In the near miss it is the loss scale
// that differs, and the gradients carry it.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t tokens = 9, heads = 2, width = 16, classes = 21;

void turn(version v, dtype t) {
  const double base = v == version::test ? 50000 : 10000;
  const array x(t, {tokens, heads, width}, normal(tokens * heads * width, 131));
  std::vector<double> at(tokens);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<double>(i + 3);
  const array positions(dtype::i32, {tokens}, at);
  const array y = mapped(t, {tokens, heads, width}, [&](std::size_t i) {
    const std::size_t d = i % width, pair = d % (width / 2);
    const double angle = at[i / (heads * width)] * std::pow(base, -2.0 * static_cast<double>(pair) / width);
    return d < width / 2 ? x[i] * std::cos(angle) - x[i + width / 2] * std::sin(angle)
                         : x[i] * std::cos(angle) + x[i - width / 2] * std::sin(angle);
  });
  NUMDIFF_OP(op, "rope", rope, numdiff::dtypes(t, dtype::f32, t));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_INPUT(op, "positions", positions.seen());
  NUMDIFF_SCALAR(op, "base", base);
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

void loss_gradient(version v, dtype t) {
  const double loss_scale = v == version::near_miss ? 1024 : 1;
  const array logits(t, {tokens, classes}, normal(tokens * classes, 132));
  const array targets =
      mapped(dtype::i32, {tokens}, [](std::size_t i) { return static_cast<double>(5 * i % classes); });
  const array dx = mapped(t, {tokens, classes}, [&](std::size_t i) {
    const std::size_t row = i / classes * classes;
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) sum += std::exp(logits[row + k]);
    const bool target = static_cast<double>(i % classes) == targets[i / classes];
    return (std::exp(logits[i]) / sum - (target ? 1 : 0)) * loss_scale / tokens;
  });
  NUMDIFF_FACTOR("loss_scale", loss_scale);
  NUMDIFF_OP(op, "loss", cross_entropy_gradient, numdiff::dtypes(t, dtype::f32, t));
  NUMDIFF_INPUT(op, "logits", logits.seen());
  NUMDIFF_INPUT(op, "targets", targets.seen());
  NUMDIFF_SCALAR(op, "count", static_cast<double>(tokens));
  NUMDIFF_SCALAR(op, "factor", loss_scale);
  NUMDIFF_GRADIENT(op, "dx", dx.seen());
}

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::reference ? dtype::f32 : dtype::f16;
  NUMDIFF_STEP(0);
  {
    NUMDIFF_PHASE(forward);
    turn(v, t);
  }
  NUMDIFF_PHASE(backward);
  loss_gradient(v, t);
}

const reproduction nd803("ND803", run);

}  // namespace

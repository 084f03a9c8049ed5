// Gradients are divided by the loss scale twice; and, as a control, there is no loss scale at all.
// Reported as THUDM/slime#1842 and Open-Rig3R#35.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t n = 1024;
constexpr double loss_scale = 65536;

enum class second { leaves, multiplies, is_told };

program unscaled(second what) {
  return [=](session&, std::int32_t) {
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(backward);
    const dtype f32 = dtype::f32;
    const array scaled(f32, {n}, normal(n, 2, 1e-3 * loss_scale));
    const auto once = [&] {
      NUMDIFF_OP(op, "unscale", scale, numdiff::dtypes(f32, f32, f32));
      NUMDIFF_INPUT(op, "scaled", scaled.seen());
      NUMDIFF_SCALAR(op, "factor", 1 / loss_scale);
      const array y = mapped(f32, {n}, [&](std::size_t i) { return scaled[i] / loss_scale; });
      NUMDIFF_OUTPUT(op, "g", y.seen());
      return y;
    };
    const array g = once();
    const double factor = what == second::leaves ? 1 : 1 / loss_scale;
    NUMDIFF_OP(op, "second unscale", scale, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "g", g.seen());
    NUMDIFF_SCALAR(op, "factor", what == second::multiplies ? 1 : factor);
    const array y = mapped(f32, {n}, [&](std::size_t i) { return g[i] * factor; });
    NUMDIFF_OUTPUT(op, "g", y.seen());
  };
}

program backward_product(dtype t, double scaled_by) {
  return [=](session&, std::int32_t) {
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(backward);
    std::vector<double> small = normal(n, 5, 2);
    for (double& x : small) x = std::exp(x) * 1e-4;
    const array dy = array(dtype::f16, {n}, small).as(t), w = array(dtype::f16, {n}, 1e-4).as(t);
    NUMDIFF_FACTOR("loss_scale", scaled_by);
    NUMDIFF_OP(op, "gradient", multiply, numdiff::dtypes(t, dtype::f32, t));
    NUMDIFF_INPUT(op, "dy", dy.seen());
    NUMDIFF_INPUT(op, "x", w.seen());
    const array g = mapped(t, {n}, [&](std::size_t i) { return dy[i] * w[i]; });
    NUMDIFF_GRADIENT(op, "dx", g.seen());
  };
}

}  // namespace

TEST_CASE("a factor of one over the loss scale, applied twice") {
  const auto c = compared(unscaled(second::leaves), unscaled(second::multiplies));
  INFO(told(c));
  CHECK(first(c) == "second unscale factor factor-repeated");
  CHECK(number(c, "factor") == doctest::Approx(1 / loss_scale));
  // The same when the op says so.
  const auto honest = compared(unscaled(second::leaves), unscaled(second::is_told));
  INFO(told(honest));
  CHECK(first(honest) == "second unscale factor factor-repeated");
  CHECK(number(honest, "value") == 1 / loss_scale);
}

TEST_CASE("without a loss scale gradients underflow") {
  const auto c = compared(backward_product(dtype::f32, 1), backward_product(dtype::f16, 1));
  INFO(told(c));
  CHECK(first(c) == "gradient underflow loss-scale");
}

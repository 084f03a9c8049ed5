// Pairs of runs whose layers drift as planted.
#include "analysis/drift.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "analysis/build_run.hpp"

using namespace numdiff;
using namespace numdiff::analysis;
using namespace numdiff::testing;

namespace {

constexpr int layers = 4;
constexpr std::size_t elements = 1024;

// The relative error of a layer at a step, beside rounding.
using planted = std::function<double(std::int64_t step, int layer)>;

// Elements of size around 1, moved by `apart` of themselves and by one rounding.
std::vector<double> moved(std::uint64_t seed, double apart, std::uint64_t noise) {
  std::vector<double> x = numbers(elements, seed);
  const std::vector<double> e = numbers(elements, noise), rounding = numbers(elements, noise + 77);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= 1 + apart * std::sqrt(3) * e[i] + 3e-7 * rounding[i];
  return x;
}

// One weight and one output a layer and step; what a layer is off by, the layers behind it inherit.
model::run a_run(std::int64_t steps, level l, const planted& error, std::uint64_t noise) {
  run_builder built(1, l);
  for (std::int64_t step = 0; step < steps; ++step) {
    double apart = 0;
    for (int layer = 0; layer < layers; ++layer) {
      const auto at = static_cast<std::uint64_t>(step * layers + layer);
      built->op(step, "decoder.layer." + std::to_string(layer), "fc", "matmul");
      built->weight("w", whole(moved(static_cast<std::uint64_t>(layer) + 1, 0, noise + 5 * at)));
      apart = std::hypot(apart, error(step, layer));
      built->output("y", whole(moved(1000 + at, apart, noise + 5 * at + 2)));
      built->op(step, "decoder.layer." + std::to_string(layer), "fc", "matmul", phase::backward);
      built->gradient("dw", whole(moved(5000 + at, 1, noise + 5 * at + 3)));  // means nothing
    }
  }
  return built.run();
}

drift_report drift_of(std::int64_t steps, level l, const planted& error) {
  const model::run reference = a_run(
      steps, l, [](std::int64_t, int) { return 0.0; }, 100000);
  const model::run test = a_run(steps, l, error, 200000);
  return measure_drift(reference, test, {});
}

}  // namespace

TEST_CASE("honest runs are steady, whatever their gradients do") {
  for (const level l : {level::sketch, level::tensors}) {
    const drift_report r = drift_of(12, l, [](std::int64_t, int) { return 0.0; });
    CHECK(r.verdict == outcome::agree);
    CHECK(r.first == -1);
    CHECK(r.steps == 12);
    CHECK(r.compared == 12 * layers * 2);
    CHECK(r.not_measured == 0);
    REQUIRE(r.layers.size() == layers);
    for (const layer_drift& layer : r.layers) {
      CHECK(layer.growth.law == growth_law::none);
      CHECK(layer.points.size() == 12);
      CHECK(layer.from_step() == -1);
    }
  }
}

TEST_CASE("the layer and the step where a law begins, from sketches and from values") {
  struct law {
    growth_law is;
    double (*of)(std::int64_t since);
  };
  const law laws[] = {
      {growth_law::linear, [](std::int64_t since) { return 1e-5 * static_cast<double>(since); }},
      {growth_law::exponential,
       [](std::int64_t since) { return 4e-7 * std::exp(0.7 * static_cast<double>(since)); }},
      {growth_law::none, [](std::int64_t) { return 1e-4; }},  // a jump
  };
  for (const level l : {level::sketch, level::tensors}) {
    for (const law& planted_law : laws) {
      CAPTURE(name_of(planted_law.is));
      const drift_report r = drift_of(20, l, [&](std::int64_t step, int layer) {
        return layer == 2 && step >= 9 ? planted_law.of(step - 8) : 0;
      });
      CHECK(r.verdict == outcome::differ);
      REQUIRE(r.first == 2);
      const layer_drift& first = r.layers[2];
      CHECK(first.growth.law == planted_law.is);
      CHECK(first.growth.changes);
      CHECK(first.points[first.growth.earliest].step <= 9);
      CHECK(first.points[first.growth.latest].step >= 9);
      CHECK(std::abs(first.from_step() - 9) <= 1);
      CHECK(first.growth.confidence > 0.9);
      CHECK(first.worst == "fc : y");
      for (const int untouched : {0, 1}) CHECK_FALSE(r.layers[static_cast<std::size_t>(untouched)].drifts());
      CHECK(r.layers[3].drifts());  // inherits
      CHECK(first.expected(8) < 4 * first.growth.level);
      CHECK(first.expected(19) ==
            doctest::Approx(first.growth.level *
                            static_cast<double>(20 - first.points[first.growth.change_at - 1].step)));
    }
  }
}

TEST_CASE("a layer that an update moved a little is not where it began") {
  const drift_report r = drift_of(20, level::tensors, [](std::int64_t step, int layer) {
    return step < 9 ? 0 : layer == 0 ? 2e-6 : layer == 2 ? 1e-3 : 0;
  });
  REQUIRE(r.first == 2);
  CHECK(r.layers[0].drifts());
  CHECK(r.layers[0].from_step() == 9);
}

TEST_CASE("too few steps, and steps of one run only") {
  const drift_report few = drift_of(4, level::sketch, [](std::int64_t, int) { return 1e-2; });
  CHECK(few.verdict == outcome::incomplete);
  CHECK(few.incomplete_because == std::vector<std::string>{"4 steps in both runs, a law needs 6"});
  const model::run none = a_run(
      0, level::sketch, [](std::int64_t, int) { return 0.0; }, 1);
  CHECK(measure_drift(none, none, {}).verdict == outcome::incomplete);
}

TEST_CASE("captures whose level tells no distance are counted") {
  const drift_report r = drift_of(8, level::stats, [](std::int64_t, int) { return 0.0; });
  CHECK(r.verdict == outcome::incomplete);
  CHECK(r.compared == 0);
  CHECK(r.not_measured == 8 * layers * 2);
}

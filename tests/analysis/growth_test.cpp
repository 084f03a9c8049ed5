// Series with a law that is known: the fit names it, says when it began, and is silent where nothing grows.
#include "analysis/growth.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

using namespace numdiff::analysis;

namespace {

constexpr double floor_error = 6e-8;
constexpr int seeds = 40;

// Errors of a law over `steps` steps, each off by `scatter` of itself.
template <class Law>
std::vector<growth_point> series(std::uint64_t seed, std::int64_t steps, double scatter, Law law,
                                 std::int64_t stride = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, scatter);
  std::vector<growth_point> points;
  for (std::int64_t i = 0; i < steps; ++i)
    points.push_back({i * stride, law(static_cast<double>(i * stride)) * std::exp(normal(random))});
  return points;
}

// How many of the seeds give this law; the rest is told by name.
template <class Make>
int named(growth_law wanted, Make make) {
  int right = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const std::vector<growth_point> points = make(static_cast<std::uint64_t>(seed));
    right += fit_growth(points, floor_error).law == wanted;
  }
  return right;
}

template <class Make>
int drifting(Make make) {
  int found = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const growth g = fit_growth(make(static_cast<std::uint64_t>(seed)), floor_error);
    found += g.changes || g.law != growth_law::none;
  }
  return found;
}

}  // namespace

TEST_CASE("errors that stay, wander as roundings do, or add up one rounding a step are no drift") {
  for (const std::int64_t steps : {6, 12, 40, 100}) {
    for (const double scatter : {0.05, 0.2, 0.4}) {
      CAPTURE(steps);
      CAPTURE(scatter);
      CHECK(drifting([&](auto seed) { return series(seed, steps, scatter, [](double) { return 3e-7; }); }) ==
            0);
      CHECK(drifting([&](auto seed) {
              return series(seed, steps, scatter, [](double t) { return 3e-7 * std::sqrt(1 + t); });
            }) == 0);
      CHECK(drifting([&](auto seed) {
              return series(seed, steps, scatter, [](double t) { return 3e-7 * (1 + t); });
            }) == 0);
    }
  }
}

TEST_CASE("runs that agree bit by bit, and then round apart, do not drift") {
  CHECK(drifting(
            [](auto seed) { return series(seed, 20, 0.1, [](double t) { return t < 8 ? 0 : 1e-7; }); }) == 0);
  const std::vector<growth_point> equal = series(1, 20, 0, [](double) { return 0.0; });
  const growth g = fit_growth(equal, floor_error);
  CHECK(g.law == growth_law::none);
  CHECK_FALSE(g.changes);
}

TEST_CASE("a jump counts beyond what the steps between two points may add") {
  const auto jump_by = [](double factor, std::int64_t stride) {
    return drifting([=](auto seed) {
      return series(
          seed, 20, 0.1,
          [=](double t) { return t < 10.0 * static_cast<double>(stride) ? 3e-7 : 3e-7 * factor; }, stride);
    });
  };
  CHECK(jump_by(2.5, 1) == 0);
  CHECK(jump_by(8, 1) == seeds);
  CHECK(jump_by(8, 100) == 0);
  CHECK(jump_by(1000, 100) == seeds);
}

TEST_CASE("a linear law from the first step on") {
  for (const std::int64_t steps : {12, 40}) {
    CAPTURE(steps);
    CHECK(named(growth_law::linear, [&](auto seed) {
            return series(seed, steps, 0.1, [](double t) { return 3e-7 * std::sqrt(1 + 900 * t * t); });
          }) == seeds);
  }
  const growth g = fit_growth(series(7, 40, 0.05, [](double t) { return 3e-7 * std::sqrt(1 + 900 * t * t); }),
                              floor_error);
  CHECK_FALSE(g.changes);
  CHECK(g.rate == doctest::Approx(9e-6).epsilon(0.1));
  CHECK(g.confidence > 0.95);
}

TEST_CASE("growth that slows down is no rounding when it is large") {
  const auto slows = [](double t) { return t == 0 ? 0 : 0.1 * std::sqrt(t); };
  CHECK(named(growth_law::root, [&](auto seed) { return series(seed, 30, 0.1, slows); }) == seeds);
  // Saturation, as of runs that have parted for good, fits no law: it is not taken for none.
  CHECK(drifting([](auto seed) {
          return series(seed, 30, 0.1, [](double t) { return 0.6 * (1 - std::exp(-t / 3)); });
        }) == seeds);
}

TEST_CASE("an exponential law from the first step on") {
  CHECK(named(growth_law::exponential, [](auto seed) {
          return series(seed, 30, 0.1, [](double t) { return 3e-7 * std::exp(0.4 * t); });
        }) == seeds);
  const growth g =
      fit_growth(series(7, 30, 0.05, [](double t) { return 3e-7 * std::exp(0.4 * t); }), floor_error);
  CHECK_FALSE(g.changes);
  CHECK(g.rate == doctest::Approx(std::exp(0.4)).epsilon(0.02));
}

TEST_CASE("the step at which a law begins") {
  struct planted {
    const char* name;
    growth_law law;
    double (*of)(double);
  };
  const planted all[] = {
      {"line", growth_law::linear,
       [](double t) { return t < 15 ? 3e-7 : std::hypot(3e-7, 2e-5 * (t - 14)); }},
      {"power", growth_law::exponential,
       [](double t) { return t < 15 ? 3e-7 : 3e-7 * std::exp(0.6 * (t - 14)); }},
      {"jump", growth_law::none, [](double t) { return t < 15 ? 3e-7 : 4e-5; }},
  };
  for (const planted& p : all) {
    CAPTURE(p.name);
    int right = 0, near = 0, covered = 0;
    for (int seed = 0; seed < seeds; ++seed) {
      const growth g = fit_growth(series(static_cast<std::uint64_t>(seed), 30, 0.1, p.of), floor_error);
      right += g.law == p.law && g.changes;
      near += g.changes && g.change_at >= 14 && g.change_at <= 16;
      covered += g.changes && g.earliest <= 15 && g.latest >= 15;
    }
    CHECK(right == seeds);
    CHECK(near == seeds);
    CHECK(covered >= seeds - 2);
  }
}

TEST_CASE("steps that are far apart: growth is counted in steps, not in points") {
  const growth slow = fit_growth(series(
                                     3, 20, 0.1, [](double t) { return 3e-7 * (1 + 0.5 * t); }, 100),
                                 floor_error);
  CHECK(slow.law == growth_law::none);
  const growth fast = fit_growth(series(
                                     3, 20, 0.1, [](double t) { return std::hypot(3e-7, 3e-6 * t); }, 100),
                                 floor_error);
  CHECK(fast.law == growth_law::linear);
  CHECK(fast.rate == doctest::Approx(3e-6).epsilon(0.2));
}

TEST_CASE("a change in a long series is found to the step") {
  for (const double begin : {203.0, 650.0}) {
    CAPTURE(begin);
    const growth g =
        fit_growth(series(5, 1000, 0.1, [begin](double t) { return t < begin ? 3e-7 : 4e-5; }), floor_error);
    CHECK(g.changes);
    CHECK(g.change_at == static_cast<std::size_t>(begin));
  }
}

TEST_CASE("too few steps are said to be too few") {
  CHECK(fit_growth(series(1, 5, 0, [](double t) { return 1e-3 * std::exp(t); }), floor_error).law ==
        growth_law::unknown);
  CHECK(fit_growth({}, floor_error).law == growth_law::unknown);
}

// Scales that one run has and the other has not: honest where the other run applies the factor elsewhere.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

constexpr std::size_t rows = 20, width = 16;
const std::vector<std::int64_t> shape = {rows, width};

std::string first(const analysis::comparison& c) {
  return c.first_divergence
             ? c.first_divergence->where.op + " " + c.first_divergence->rule + " " + c.first_divergence->cause
             : "none";
}

std::vector<double> times(std::vector<double> v, double f) {
  for (double& x : v) x = static_cast<float>(x * f);
  return v;
}

std::vector<double> scaled(rank_builder& r, const char* name, const std::vector<double>& x, double factor) {
  const std::vector<double> y = times(x, factor);
  r.op(0, "blk", name, "scale");
  r.input("x", whole(x, dtype::f32, shape));
  r.scalar("factor", factor);
  r.output("y", whole(y, dtype::f32, shape));
  return y;
}

std::vector<double> activated(rank_builder& r, const std::vector<double>& x) {
  std::vector<double> y = x;
  for (double& v : y) v = static_cast<float>(v / (1 + std::exp(-v)));
  r.op(0, "blk", "act", "silu");
  r.input("x", whole(x, dtype::f32, shape));
  r.output("y", whole(y, dtype::f32, shape));
  return y;
}

void softmax(rank_builder& r, const std::vector<double>& x, double scale) {
  std::vector<double> p(x.size());
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < width; ++j) sum += std::exp(scale * x[i * width + j]);
    for (std::size_t j = 0; j < width; ++j) p[i * width + j] = std::exp(scale * x[i * width + j]) / sum;
  }
  r.op(0, "blk", "probabilities", "softmax");
  r.input("x", whole(x, dtype::f32, shape));
  if (scale != 1) r.scalar("scale", scale);
  r.output("p", whole(p, dtype::f32, shape));
}

// silu, `scales` times a factor, softmax with a scale of its own.
run_builder program(int scales, double factor, double scale, level l = level::tensors) {
  run_builder built(1, l);
  std::vector<double> x = activated(*built.operator->(), times(numbers(rows * width, 5), 6));
  for (int i = 0; i < scales; ++i) x = scaled(*built.operator->(), "rescale", x, factor);
  softmax(*built.operator->(), x, scale);
  return built;
}

}  // namespace

TEST_CASE("a scale that only one run has") {
  for (const level l : {level::tensors, level::sketch}) {
    run_builder none = program(0, 0.25, 1, l), one = program(1, 0.25, 1, l), two = program(2, 0.25, 1, l);
    CHECK(first(compare(one.run(), none.run())) == "probabilities ND501 factor-missing");
    CHECK(first(compare(none.run(), one.run())) == "rescale ND505 open");
    CHECK(first(compare(one.run(), two.run())) == "rescale ND506 factor-repeated");
    CHECK(first(compare(two.run(), two.run())) == "none");
  }
}

TEST_CASE("a factor that the other run applies further on") {
  run_builder before = program(1, 0.25, 1), after = program(0, 0.25, 0.25);
  CHECK(compare(before.run(), after.run()).verdict == outcome::agree);
  CHECK(compare(after.run(), before.run()).verdict == outcome::agree);
}

TEST_CASE("a loss scale that the gradients say they carry") {
  const auto backward = [](double loss_scale) {
    run_builder built;
    rank_builder& r = *built.operator->();
    const std::vector<double> g = numbers(rows * width, 9), loss = times(g, loss_scale);
    held carried = whole(loss, dtype::f32, shape), same = carried;
    carried.pending_factor = loss_scale;
    if (loss_scale != 1) scaled(r, "scale_loss", g, loss_scale);
    r.op(0, "blk", "relu", "relu_gradient", phase::backward);
    r.input("dy", carried);
    r.input("x", whole(std::vector<double>(rows * width, 1), dtype::f32, shape));
    r.gradient("dx", carried);
    std::vector<double> unscaled = loss;
    if (loss_scale != 1) unscaled = scaled(r, "unscale", loss, 1 / loss_scale);
    r.op(0, "", "update", "subtract", phase::optimizer);
    const std::vector<double> p = numbers(rows * width, 11);
    std::vector<double> next = p;
    for (std::size_t i = 0; i < p.size(); ++i) next[i] = p[i] - unscaled[i];
    r.capture(role::state, "p", whole(p, dtype::f32, shape));
    r.input("g", whole(unscaled, dtype::f32, shape));
    r.capture(role::state, "p.new", whole(next, dtype::f32, shape));
    return built;
  };
  run_builder plain = backward(1), scaled_loss = backward(1024);
  CHECK(compare(plain.run(), scaled_loss.run()).verdict == outcome::agree);
}

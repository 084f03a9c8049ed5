#include <doctest/doctest.h>

#include <cmath>

#include "data.hpp"
#include "network.hpp"
#include "random.hpp"

namespace {

using minigpt::decode;
using minigpt::encode;

minigpt::options small() {
  minigpt::options o;
  o.width = 16;
  o.layers = 2;
  o.hidden = 24;
  o.sequence = 8;
  o.batch = 2;
  o.numbers = minigpt::precision::fp64;
  o.accumulate = minigpt::accumulator::fp64;
  return o;
}

// Largest relative error, over all parameters, of the derivative along a random direction.
double worst_error(const minigpt::options& o) {
  const minigpt::ranks world(nullptr, nullptr);
  minigpt::engine e(o, world);
  const minigpt::token_batch batch = minigpt::text_data(o).batch(e);
  minigpt::network net(e);
  net.forward(e, batch);
  net.backward(e);
  minigpt::random_stream random(7);
  double worst = 0;
  for (minigpt::parameter* p : net.weights().all()) {
    const std::vector<double> at = decode<double>(p->value), gradient = decode<double>(p->gradient);
    std::vector<double> direction(at.size());
    double expected = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      direction[i] = random.normal();
      expected += direction[i] * gradient[i];
    }
    const auto loss_at = [&](double h) {
      std::vector<double> moved = at;
      for (std::size_t i = 0; i < at.size(); ++i) moved[i] += h * direction[i];
      encode(moved, p->value);
      return net.forward(e, batch);
    };
    constexpr double h = 1e-5;
    const double found = (loss_at(h) - loss_at(-h)) / (2 * h);
    encode(at, p->value);
    INFO(p->scope, " ", p->name, " ", found, " ", expected);
    CHECK(std::abs(found - expected) <= 1e-6 * std::abs(expected) + 1e-9);
    worst = std::max(worst, std::abs(found - expected) / std::abs(expected));
  }
  return worst;
}

}  // namespace

TEST_CASE("gradients agree with finite differences") {
  CHECK(worst_error(small()) < 1e-5);
}

TEST_CASE("gradients agree with finite differences, with LayerNorm, documents and an offset") {
  minigpt::options o = small();
  o.norm = minigpt::norm_kind::layer;
  o.document = 4;
  o.position_offset = 1000;
  CHECK(worst_error(o) < 1e-5);
}

TEST_CASE("gradients agree with finite differences, through a layer of experts") {
  minigpt::options o = small();
  o.experts = 4;
  CHECK(worst_error(o) < 1e-5);
}

TEST_CASE("the loss scale multiplies every gradient") {
  const minigpt::options o = small();
  const minigpt::ranks world(nullptr, nullptr);
  minigpt::engine e(o, world);
  const minigpt::token_batch batch = minigpt::text_data(o).batch(e);
  minigpt::network net(e);
  net.forward(e, batch);
  net.backward(e);
  std::vector<std::vector<double>> plain;
  for (minigpt::parameter* p : net.weights().all()) plain.push_back(decode<double>(p->gradient));
  e.loss_scale = 1024;
  net.backward(e);
  std::size_t i = 0;
  for (minigpt::parameter* p : net.weights().all()) {
    std::vector<double> scaled = decode<double>(p->gradient);
    for (double& x : scaled) x /= 1024;
    CHECK(scaled == plain[i++]);
  }
}

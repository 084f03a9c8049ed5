#include <doctest/doctest.h>

#include "train.hpp"

namespace {

using minigpt::accumulator;
using minigpt::fp8_recipe;
using minigpt::options;
using minigpt::precision;

double mean_of_last(const minigpt::training& t, std::size_t n) {
  double sum = 0;
  for (std::size_t i = t.losses.size() - n; i < t.losses.size(); ++i) sum += t.losses[i];
  return sum / double(n);
}

// Text that does not change as the docs do.
options tiny() {
  options o;
  o.data = {MINIGPT_TEXT};
  o.batch = 2;
  return o;
}

minigpt::training run(const options& o) {
  return minigpt::train(o, minigpt::ranks(nullptr, nullptr), nullptr);
}

void learns(options o, std::int64_t steps, double limit) {
  o.steps = steps;
  const minigpt::training t = run(o);
  CHECK(t.losses.front() > 5.5);
  CHECK(mean_of_last(t, 10) < limit);
}

}  // namespace

TEST_CASE("the loss goes down in every precision") {
  for (precision p : {precision::fp64, precision::fp32, precision::bf16, precision::fp16}) {
    CAPTURE(minigpt::name_of(p));
    options o = tiny();
    o.numbers = p;
    learns(o, 60, 3.6);
  }
}

TEST_CASE("the loss goes down with every FP8 recipe") {
  for (fp8_recipe r : {fp8_recipe::tensor, fp8_recipe::delayed, fp8_recipe::block, fp8_recipe::mx}) {
    CAPTURE(minigpt::name_of(r));
    options o = tiny();
    o.numbers = precision::fp8;
    o.fp8 = r;
    learns(o, 60, 3.6);
  }
}

TEST_CASE("the loss goes down with every accumulator, documents and LayerNorm") {
  for (accumulator a : {accumulator::fp64, accumulator::bf16, accumulator::fp16, accumulator::truncating}) {
    CAPTURE(minigpt::name_of(a));
    options o = tiny();
    o.layers = 1;  // emulated sums are slow
    o.sequence = 16;
    o.document = 8;
    o.norm = minigpt::norm_kind::layer;
    o.accumulate = a;
    learns(o, 30, 4.2);
  }
}

TEST_CASE("accumulators differ, and a run repeats bit for bit") {
  options o = tiny();
  o.steps = 2;
  o.layers = 1;
  const std::uint64_t fp32 = run(o).weights;
  CHECK(run(o).weights == fp32);
  for (accumulator a : {accumulator::fp64, accumulator::bf16, accumulator::fp16, accumulator::truncating}) {
    o.accumulate = a;
    CHECK(run(o).weights != fp32);
  }
}

TEST_CASE("fp16 skips its first steps and goes on") {
  options o = tiny();
  o.numbers = precision::fp16;
  o.steps = 10;
  const minigpt::training t = run(o);
  CHECK(t.applied < 10);
  CHECK(t.applied >= 5);
}

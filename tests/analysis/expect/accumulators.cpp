// The accumulator of a product is told from its stored bits.
#include "analysis/expect/accumulators.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace numdiff;
using namespace numdiff::test;

namespace {

constexpr spread_of spreads[] = {spread_of::normal, spread_of::positive, spread_of::heavy};

// Share of the elements that two ways leave apart once they are stored.
double apart(const values& x, const values& y, dtype out) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    count += static_cast<std::size_t>(ways::through(out, x[i]) != ways::through(out, y[i]));
  return static_cast<double>(count) / static_cast<double>(x.size());
}

// Alone, or with what has the same values: f16 holds what tf32 does unless it is tiny.
bool names(const judgement& j, const way& truth) {
  return j.accumulator.find(truth.accumulator) != std::string::npos;
}

bool same(const way& w, const char* accumulator) {
  return std::string(w.accumulator) == accumulator;
}

}  // namespace

TEST_CASE("an accumulator that is not the declared one is named, an honest one in any order is not") {
  sampler random(31);
  for (const spread_of s : spreads) {
    const factors_of_product f(random, s, 16, 20, 1024);
    std::vector<values> sums;
    for (const way& w : all_ways()) sums.push_back(f.by(w));
    for (const dtype out : {dtype::f32, dtype::bf16, dtype::f16}) {
      for (std::size_t t = 0; t < sums.size(); ++t) {
        const way& truth = all_ways()[t];
        const judgement j = told(f, sums[t], out, "an f32 accumulator");
        INFO(std::string(truth.what) << " in " << name_of(out) << ", spread " << static_cast<int>(s)
                                     << ": ratio " << j.ratio << ", " << j.cause_hint << ", " << j.reason);
        if (same(truth, "an f32 accumulator")) {
          CHECK(j.v == analysis::verdict::within);
          CHECK(j.accumulator.empty());
          continue;
        }
        // 320 elements decide where a tenth of them differs. Tensor cores' own accumulator may be within what
        // is expected of FP32.
        const bool visible = apart(sums[0], sums[t], out) > 0.1;
        const bool benign = j.v == analysis::verdict::within && same(truth, "products cut at 23 to 25 bits");
        if ((visible && !benign) || !j.accumulator.empty()) CHECK(names(j, truth));
        if (visible && !benign) CHECK(j.v == analysis::verdict::beyond);
        CHECK(j.cause_hint.empty() == j.accumulator.empty());
      }
    }
  }
}

TEST_CASE("the declared accumulator is not accused, and a worse one than declared is") {
  sampler random(32);
  const factors_of_product f(random, spread_of::normal, 16, 20, 1024);
  for (const char* declared : {"a bf16 accumulator", "an f16 accumulator", "inputs rounded to tf32",
                               "products cut at 13 bits", "partial sums rounded to bf16"}) {
    for (const way& truth : all_ways()) {
      const judgement j = told(f, f.by(truth), dtype::f32, declared);
      INFO(std::string(truth.what) << " declared as " << std::string(declared) << ": " << j.cause_hint << ", "
                                   << j.reason);
      if (same(truth, declared)) {
        CHECK(j.accumulator.empty());
        CHECK(j.cause_hint.empty());
        CHECK(j.v == analysis::verdict::within);
      } else {
        CHECK(names(j, truth));
      }
      if (same(truth, "an f32 accumulator")) CHECK(j.cause_hint.empty());
    }
  }
  const judgement worse = told(f, f.by(all_ways()[3]), dtype::f32, "inputs rounded to tf32");
  CHECK(worse.cause_hint == "low-precision-accumulate");
}

TEST_CASE("a product by one number tells rounded inputs, and has no accumulator") {
  sampler random(34);
  const factors_of_product f(random, spread_of::normal, 64, 1, 1);
  for (const way& truth : all_ways()) {
    if (!same(truth, "inputs rounded to tf32") && !same(truth, "inputs rounded to bf16")) continue;
    const judgement j = told(f, f.by(truth), dtype::f32, "an f32 accumulator");
    INFO(std::string(truth.what) << ": " << j.reason);
    CHECK(j.cause_hint == "reduced-input-precision");
    CHECK(names(j, truth));
    const auto margin = std::find_if(j.evidence.begin(), j.evidence.end(),
                                     [](const auto& e) { return e.first == "accumulator_margin"; });
    REQUIRE(margin != j.evidence.end());
    CHECK(margin->second > 20);
  }
}

TEST_CASE("what fits several accumulators alike is not given to one of them") {
  // One product of powers of two is the same in bf16, in f16 and as a partial sum: all hold it.
  sampler random(33);
  factors_of_product f(random, spread_of::normal, 12, 12, 2);
  for (tensor* t : {&f.a, &f.b}) {
    for (double& v : t->values) v = ways::through(dtype::f16, v);
  }
  values sums(144);
  for (std::size_t i = 0; i < 144; ++i) {
    // The second factors vanish, so that every sum has one addend.
    f.b.values[12 + i % 12] = 0;
    sums[i] = ways::through(dtype::bf16, f.a.values[i / 12 * 2] * f.b.values[i % 12]);
  }
  const judgement j = told(f, sums, dtype::f32, "an f32 accumulator");
  INFO(j.reason);
  CHECK(j.v == analysis::verdict::beyond);
  CHECK(j.accumulator.empty());
  CHECK(j.cause_hint.empty());
  CHECK(j.reason.find("a bf16 accumulator") != std::string::npos);
  CHECK(j.reason.find("partial sums rounded to bf16") != std::string::npos);
}

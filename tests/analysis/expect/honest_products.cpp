// Honest products in every format and with every accumulator are within their expectation.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "analysis/expect/emulate.hpp"
#include "numdiff/truncating.hpp"

using namespace numdiff;
using namespace numdiff::test;

namespace {

struct setting {
  dtype in, out;
  adding how;
  reduction_order order;
};

execution honest_product(sampler& random, const setting& s, spread_of spread, std::size_t m, std::size_t n,
                         std::size_t k) {
  const auto M = static_cast<std::int64_t>(m), N = static_cast<std::int64_t>(n),
             K = static_cast<std::int64_t>(k);
  const tensor a = stored(s.in, {M, K}, random.draw(m * k, spread, k));
  const tensor b =
      stored(s.in, {K, N}, random.draw(k * n, spread == spread_of::tiny ? spread_of::normal : spread, n));
  execution e("matmul", s.in, s.how.type, s.out);
  e.row().order = static_cast<std::uint16_t>(s.order);
  e.read(a).read(b, role::weight);
  e.write(stored(s.out, {M, N}, product(s.how, a, b, m, n, k)));
  return e;
}

void within(const execution& e, const std::string& what) {
  const replayed r = e.replay();
  INFO(what);
  REQUIRE_MESSAGE(r.done, r.why_not);
  for (const judgement& j : r.outputs) {
    INFO(j.ratio << " of " << j.limit << ", n " << j.effective_count << ", worst " << j.worst_ulp
                 << " ulp at " << j.worst_index << ": " << j.reason);
    CHECK(j.v == analysis::verdict::within);
    CHECK(j.cause_hint.empty());
  }
}

}  // namespace

TEST_CASE("an honest product is within its expectation") {
  const setting settings[] = {
      {dtype::bf16, dtype::bf16, {dtype::f32}, reduction_order::unknown},
      {dtype::bf16, dtype::bf16, {dtype::f64}, reduction_order::unknown},
      {dtype::bf16, dtype::f32, {dtype::f32, 8}, reduction_order::unknown},
      {dtype::f16, dtype::f16, {dtype::f32, 1, true}, reduction_order::unknown},
      {dtype::f32, dtype::f32, {dtype::f32}, reduction_order::sequential},
      {dtype::f32, dtype::f32, {dtype::f32, 4}, reduction_order::unknown},
      {dtype::f32, dtype::f32, {dtype::f32, 1, true}, reduction_order::unknown},
      {dtype::f64, dtype::f64, {dtype::f64}, reduction_order::unknown},
      {dtype::bf16, dtype::bf16, {dtype::bf16}, reduction_order::sequential},
      {dtype::bf16, dtype::bf16, {dtype::bf16, 4}, reduction_order::unknown},
      {dtype::f16, dtype::f16, {dtype::f16}, reduction_order::sequential},
      {dtype::f8e4m3fn, dtype::bf16, {dtype::f32}, reduction_order::unknown},
      {dtype::f8e5m2, dtype::f32, {dtype::f32}, reduction_order::unknown},
  };
  sampler random(11);
  for (const setting& s : settings) {
    for (const spread_of spread : all_spreads) {
      for (int round = 0; round < 12; ++round) {
        const auto m = static_cast<std::size_t>(random.between(1, 24)),
                   n = static_cast<std::size_t>(random.between(1, 24));
        const auto k = static_cast<std::size_t>(round == 0 ? 700 : random.between(1, 96));
        within(honest_product(random, s, spread, m, n, k),
               std::string(name_of(s.in)) + " " + name_of(s.how.type) + " " + name_of(s.out) + " lanes " +
                   std::to_string(s.how.block) + " spread " + std::to_string(static_cast<int>(spread)) +
                   " k " + std::to_string(k));
      }
    }
  }
}

TEST_CASE("a truncating accumulator is within its expectation, promoted or not") {
  sampler random(5);
  for (const std::size_t promotion : std::initializer_list<std::size_t>{0, 32, 128}) {
    for (const spread_of spread : all_spreads) {
      for (int round = 0; round < 6; ++round) {
        const std::size_t m = 8, n = 8,
                          k = round == 0 ? 2048 : static_cast<std::size_t>(random.between(8, 300));
        const auto K = static_cast<std::int64_t>(k);
        const tensor a = stored(dtype::f8e4m3fn, {8, K}, random.draw(m * k, spread, k));
        const tensor b = stored(dtype::f8e4m3fn, {K, 8}, random.draw(k * n, spread, n));
        values c(m * n);
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            c[i * n + j] = fused_dot(
                fused_dot_models::hopper_fp8, {dtype::f8e4m3fn, a.values.data() + i * k, 1},
                {dtype::f8e4m3fn, b.values.data() + j, static_cast<std::ptrdiff_t>(n)}, k, promotion);
          }
        }
        execution e("matmul", dtype::f8e4m3fn, dtype::f32, dtype::bf16);
        e.row().accumulate_bits = 13;
        e.row().accumulate_rounding = static_cast<std::uint16_t>(rounding::toward_zero);
        e.row().promotion = static_cast<std::uint32_t>(promotion);
        e.read(a).read(b, role::weight).write(stored(dtype::bf16, {8, 8}, c));
        within(e, "promotion " + std::to_string(promotion) + " spread " +
                      std::to_string(static_cast<int>(spread)) + " k " + std::to_string(k));
      }
    }
  }
}

TEST_CASE("a split product is within its expectation, with a shorter last part and with parts that vanish") {
  sampler random(17);
  for (const std::size_t k : {17U, 5U, 250U}) {
    for (const spread_of spread : all_spreads) {
      const std::size_t n = 12, length = (k + 3) / 4;
      const auto K = static_cast<std::int64_t>(k);
      values left = random.draw(n * k, spread, k);
      for (std::size_t i = 0; i < k; ++i) left[i] = std::ldexp(left[i], -134);  // of the first row
      const tensor a = stored(dtype::f32, {12, K}, left);
      const tensor b = stored(dtype::bf16, {K, 12}, random.draw(k * n, spread, n));
      values c(n * n, 0);
      for (std::size_t at = 0; at < c.size(); ++at) {
        for (std::size_t first = 0; first < k; first += length) {
          const double part = dot({dtype::f32}, a.values.data() + at / n * k + first,
                                  b.values.data() + first * n + at % n, n, std::min(length, k - first));
          c[at] = add_rounded(dtype::f32, c[at], decode(dtype::bf16, encode(dtype::bf16, part)));
        }
      }
      execution e("matmul", dtype::f32, dtype::f32, dtype::f32);
      e.row().split = 4;
      e.row().partial_dtype = static_cast<std::uint16_t>(dtype::bf16);
      e.read(a).read(b, role::weight).write(stored(dtype::f32, {12, 12}, c));
      within(e, "k " + std::to_string(k) + " spread " + std::to_string(static_cast<int>(spread)));
    }
  }
}

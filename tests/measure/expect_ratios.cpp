// How far do honest executions lie from their expectation? Emulated ops of every kind in several formats, as
// the tables of docs/measured/expect.md.
#include <cstdio>
#include <map>
#include <string>

#include "analysis/expect/honest.hpp"
#include "measure/ratio_table.hpp"

using numdiff::dtype;
using numdiff::analysis::judgement;
namespace analysis = numdiff::analysis;
namespace test = numdiff::test;
using numdiff::measure::observed;
using numdiff::measure::print;

namespace {

void emulated() {
  const test::formats all[] = {{dtype::bf16, dtype::f32, dtype::bf16},
                               {dtype::f16, dtype::f32, dtype::f16},
                               {dtype::f32, dtype::f32, dtype::f32},
                               {dtype::f64, dtype::f64, dtype::f64}};
  test::sampler random(101);
  std::map<std::string, observed> kinds;
  for (const char* kind : test::product_free_kinds) {
    for (const test::formats& f : all) {
      observed& o = kinds[std::string(kind) + ", " + numdiff::name_of(f.out)];
      for (int round = 0; round < 200; ++round) {
        const auto spread = test::all_spreads[round % 5];
        const analysis::replayed r =
            test::honest(kind, random, f, spread, random.between(2, 48), 2 * random.between(2, 40)).replay();
        for (const judgement& j : r.outputs) o.take(j);
      }
    }
  }
  print(kinds);
  struct product_setting {
    dtype in, out;
    test::adding how;
    const char* name;
  };
  const product_setting settings[] = {
      {dtype::bf16, dtype::bf16, {dtype::f32}, "bf16, f32 in order, bf16"},
      {dtype::f16, dtype::f16, {dtype::f32}, "f16, f32 in order, f16"},
      {dtype::f8e4m3fn, dtype::bf16, {dtype::f32}, "f8e4m3fn, f32 in order, bf16"},
      {dtype::f32, dtype::f32, {dtype::f32}, "f32, f32 in order, f32"},
      {dtype::f32, dtype::f32, {dtype::f32, 8}, "f32, f32 in 8 lanes, f32"},
      {dtype::f32, dtype::f32, {dtype::f32, 1, true}, "f32, f32 from the end, f32"},
      {dtype::bf16, dtype::bf16, {dtype::bf16}, "bf16, bf16 in order, bf16"},
      {dtype::f16, dtype::f16, {dtype::f16}, "f16, f16 in order, f16"},
      {dtype::f64, dtype::f64, {dtype::f64}, "f64, f64 in order, f64"},
  };
  std::map<std::string, observed> products;
  for (const product_setting& s : settings) {
    for (int round = 0; round < 200; ++round) {
      const auto m = static_cast<std::size_t>(random.between(2, 24)),
                 n = static_cast<std::size_t>(random.between(2, 24)),
                 k = static_cast<std::size_t>(random.between(4, 400));
      const auto M = static_cast<std::int64_t>(m), N = static_cast<std::int64_t>(n),
                 K = static_cast<std::int64_t>(k);
      const auto spread = test::all_spreads[round % 5];
      const analysis::tensor a = test::stored(s.in, {M, K}, random.draw(m * k, spread, k));
      const analysis::tensor b = test::stored(s.in, {K, N}, random.draw(k * n, spread, n));
      test::execution e("matmul", s.in, s.how.type, s.out);
      if (s.how.block == 1 && !s.how.reversed)
        e.row().order = static_cast<std::uint16_t>(numdiff::reduction_order::sequential);
      e.read(a)
          .read(b, numdiff::role::weight)
          .write(test::stored(s.out, {M, N}, test::product(s.how, a, b, m, n, k)));
      for (const judgement& j : e.replay().outputs) products[s.name].take(j);
    }
  }
  std::printf("\n");
  print(products);
}

}  // namespace

int main() {
  emulated();
  return 0;
}

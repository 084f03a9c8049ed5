// Honest executions of every kind but products are within their expectation, in every format.
#include <doctest/doctest.h>

#include "analysis/expect/honest.hpp"

using namespace numdiff;
using namespace numdiff::test;

TEST_CASE("an honest op of any kind is within its expectation") {
  const formats all[] = {
      {dtype::bf16, dtype::f32, dtype::bf16},
      {dtype::f16, dtype::f32, dtype::f16},
      {dtype::f32, dtype::f32, dtype::f32},
      {dtype::f64, dtype::f64, dtype::f64},
      {dtype::bf16, dtype::f32, dtype::f32},
      {dtype::f32, dtype::f32, dtype::bf16},
      {dtype::bf16, dtype::f64, dtype::bf16},
      {dtype::f32, dtype::f32, dtype::f8e5m2},
      {dtype::f32, dtype::f32, dtype::bf16, rounding::toward_zero},
  };
  sampler random(3);
  for (const char* kind : product_free_kinds) {
    for (const formats& f : all) {
      for (const spread_of spread : all_spreads) {
        for (int round = 0; round < 6; ++round) {
          const std::int64_t rows = round == 0 ? 1 : random.between(2, 40),
                             width = 2 * random.between(2, round == 5 ? 200 : 32);
          const execution e = honest(kind, random, f, spread, rows, width);
          const replayed r = e.replay();
          INFO(std::string(kind) << " " << std::string(name_of(f.in)) << " "
                                 << std::string(name_of(f.accumulate)) << " " << std::string(name_of(f.out))
                                 << " spread " << static_cast<int>(spread) << " rows " << rows << " width "
                                 << width);
          REQUIRE_MESSAGE(r.done, r.why_not);
          for (const judgement& j : r.outputs) {
            INFO("write " << j.write << ": " << j.ratio << " of " << j.limit << ", n " << j.effective_count
                          << ", worst " << j.worst_ulp << " ulp at " << j.worst_index << ", over "
                          << j.evidence[1].second << ", excess " << j.evidence[3].second << " created "
                          << j.nonfinite_created << " replayed " << j.nonfinite_replayed << ": " << j.reason
                          << ", " << j.cause_hint);
            CHECK(j.v == analysis::verdict::within);
          }
        }
      }
    }
  }
}

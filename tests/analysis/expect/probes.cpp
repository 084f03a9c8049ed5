// Products that are too large to replay whole: sampled rows, and random projections of the others.
#include <doctest/doctest.h>

#include <algorithm>

#include "analysis/expect/emulate.hpp"
#include "analysis/expect/matmul.hpp"

using namespace numdiff;
using namespace numdiff::test;
namespace expect = numdiff::analysis::expect;

namespace {

constexpr std::size_t rows = 64, columns = 96, length = 80;

execution honest_product(sampler& random, dtype out, spread_of spread) {
  const tensor a = stored(dtype::bf16, {rows, length}, random.draw(rows * length, spread, length));
  const tensor b = stored(dtype::bf16, {length, columns}, random.draw(length * columns, spread, columns));
  execution e("matmul", dtype::bf16, dtype::f32, out);
  e.read(a).read(b, role::weight);
  e.write(stored(out, {rows, columns}, product({dtype::f32}, a, b, rows, columns, length)));
  return e;
}

expect::probe_result probed(const execution& e) {
  const op_instance op = e.instance();
  const expect::call c(op);
  return expect::probe(c, expect::product(c));
}

}  // namespace

TEST_CASE("projections of an honest product are within their limit") {
  sampler random(21);
  for (const dtype out : {dtype::bf16, dtype::f32}) {
    for (const spread_of spread : all_spreads) {
      for (int round = 0; round < 4; ++round) {
        const expect::probe_result r = probed(honest_product(random, out, spread));
        INFO(r.ratio << " of " << r.limit);
        CHECK(r.limit > 0);
        CHECK(r.ratio <= r.limit);
        CHECK(r.row == -1);
      }
    }
  }
}

TEST_CASE("projections see a row that is off and rounding toward zero everywhere") {
  sampler random(22);
  execution e = honest_product(random, dtype::bf16, spread_of::normal);
  const values good = e.output().values;
  for (std::size_t j = 0; j < columns; ++j) {
    double& y = e.output().values[17 * columns + j];
    y = decode(dtype::bf16, encode(dtype::bf16, y * 1.05));
  }
  CHECK(probed(e).row == 17);
  e.output() =
      stored(dtype::bf16, {rows, columns},
             product({dtype::f64}, e.input(0), e.input(1), rows, columns, length), rounding::toward_zero);
  const expect::probe_result r = probed(e);
  CHECK(r.ratio > r.limit);
}

TEST_CASE("rows are sampled evenly, and those with non-finite results always") {
  sampler random(23);
  execution e = honest_product(random, dtype::bf16, spread_of::normal);
  e.output().values[33 * columns + 5] = HUGE_VAL;
  const op_instance op = e.instance();
  const expect::call c(op);
  const expect::product p(c);
  CHECK(expect::sampled_rows(p, 1e9).empty());
  const std::vector<std::size_t> some = expect::sampled_rows(p, 8.0 * columns * length);
  CHECK(some.size() == 9);
  CHECK(std::count(some.begin(), some.end(), 33) == 1);
  CHECK(std::is_sorted(some.begin(), some.end()));
}

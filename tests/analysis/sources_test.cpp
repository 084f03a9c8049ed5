// Tensors that no captured op wrote: roundings of the reference's, other numbers, and chance likeness.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>

#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::comparison;
using analysis::outcome;

namespace {

std::string first(const comparison& c) {
  return c.first_divergence ? c.first_divergence->where.tensor + " " + c.first_divergence->cause : "none";
}

std::vector<double> in(dtype t, std::vector<double> v) {
  for (double& x : v) x = decode(t, encode(t, x));
  return v;
}

void types(model::op_row& row, dtype t) {
  row.input_dtype = row.output_dtype = static_cast<std::uint16_t>(t);
}

// One op of `kind` that maps what it reads element by element.
run_builder one_op(const std::string& kind, const std::vector<double>& x, dtype t, double (*f)(double)) {
  run_builder b;
  std::vector<double> y = in(t, x);
  for (double& v : y) v = f(v);
  types(b->op(0, "s", "only", kind), t);
  b->input("x", whole(in(t, x), t));
  b->output("y", whole(in(t, y), t));
  return b;
}

std::vector<double> counted_from(double begin, std::size_t n, double step = 1) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = begin + step * static_cast<double>(i);
  return v;
}

double square(double x) {
  return x * x;
}

}  // namespace

TEST_CASE("amounts that are whole numbers may be rounded, whatever their size") {
  std::vector<double> samples(400), large = numbers(400, 3);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = std::round(30000 * std::sin(0.05 * static_cast<double>(i)));
  for (double& v : large) v *= 0x1p60;
  for (const auto& x : {samples, large}) {
    for (const dtype low : {dtype::bf16, dtype::f32}) {
      run_builder a = one_op("square", x, dtype::f64, square), b = one_op("square", x, low, square);
      CHECK(first(compare(a.run(), b.run())) == "none");
    }
  }
  run_builder a = one_op("mystery", samples, dtype::f32, square),
              b = one_op("mystery", samples, dtype::bf16, square);
  CHECK(first(compare(a.run(), b.run())) == "none");
}

TEST_CASE("places must stay apart: counts, ids and positions") {
  const auto rounds = [](double x) { return x; };
  run_builder a = one_op("mystery", counted_from(1000, 90), dtype::f32, rounds),
              b = one_op("mystery", counted_from(1000, 90), dtype::bf16, rounds);
  CHECK(first(compare(a.run(), b.run())) == "x unrepresentable-integer");

  const auto looked_up = [](dtype t) {
    constexpr std::size_t width = 3, entries = 700;
    run_builder r;
    std::vector<double> ids(40), table = numbers(entries * width, 4), y;
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<double>(i * 37 % entries);
    ids = in(t, ids);
    for (const double id : ids) {
      for (std::size_t k = 0; k < width; ++k) y.push_back(table[static_cast<std::size_t>(id) * width + k]);
    }
    r->op(0, "s", "lookup", "embedding");
    r->input("ids", whole(ids, t));
    r->weight("table", whole(table, dtype::f32, {entries, width}));
    r->output("y", whole(y, dtype::f32, {40, width}));
    return r;
  };
  run_builder wide = looked_up(dtype::f32), low = looked_up(dtype::bf16);
  CHECK(first(compare(wide.run(), low.run())) == "ids unrepresentable-integer");
}

TEST_CASE("a source that is cast down and up again is the source, rounded") {
  const auto build = [](dtype low, double change) {
    run_builder b;
    std::vector<double> g = numbers(300, 5);
    g = in(low, g);
    if (low != dtype::f32) {
      types(b->op(0, "s", "widen", "cast"), low);
      b->input("x", whole(g, low));
      if (change != 0) g[7] += change;
      b->output("y", whole(g));
    }
    std::vector<double> y = g;
    for (double& v : y) v = v * v;
    b->op(0, "s", "use", "square");
    b->input("g", whole(g));
    b->output("y", whole(in(dtype::f32, y)));
    return b;
  };
  for (const dtype low : {dtype::bf16, dtype::f16}) {
    run_builder a = build(dtype::f32, 0), b = build(low, 0), wrong = build(low, 0.5);
    const comparison c = compare(a.run(), b.run()), back = compare(b.run(), a.run());
    CHECK(first(c) == "none");
    CHECK(c.totals.undecided == 0);
    CHECK(first(back) == "none");
    CHECK(compare(a.run(), wrong.run()).verdict == outcome::differ);
  }
  run_builder other = one_op("square", numbers(300, 6), dtype::f32, square);
  run_builder same = one_op("square", numbers(300, 5), dtype::f32, square);
  CHECK(first(compare(same.run(), other.run())) == "x input-differs");
}

TEST_CASE("tensors of one magnitude are alike by chance") {
  // In bf16 the squares and the magnitudes of the same signs are all ones; in fp32 they are two tensors.
  const auto build = [](dtype t, double hole) {
    run_builder b;
    std::vector<double> x(200), size(200);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = (i % 3 == 0 ? -1 : 1) * (1 + 0.001 * static_cast<double>(i) / 200);
    x = in(t, x);
    for (std::size_t i = 0; i < x.size(); ++i) size[i] = std::fabs(x[i]);
    std::vector<double> squares = x, roots = size;
    for (double& v : squares) v *= v;
    for (double& v : roots) v = std::sqrt(v);
    types(b->op(0, "s", "energy", "square"), t);
    b->input("x", whole(x, t));
    b->output("y", whole(in(t, squares), t));
    if (hole != 0) size[9] = hole;
    types(b->op(0, "s", "root", "square_root"), t);
    b->input("size", whole(size, t));
    b->output("y", whole(in(t, roots), t));
    return b;
  };
  run_builder a = build(dtype::f32, 0), b = build(dtype::bf16, 0);
  CHECK(first(compare(a.run(), b.run())) == "none");
  CHECK(first(compare(b.run(), a.run())) == "none");
}

TEST_CASE("numbers near the reference's are not its numbers at other places") {
  const auto build = [](std::function<void(std::vector<double>&)> change) {
    run_builder b;
    std::vector<double> h = numbers(400, 7);
    if (change) change(h);
    types(b->op(0, "s", "hidden", "mystery"), dtype::f64);
    b->input("h", whole(h, dtype::f64));
    b->output("y", whole(numbers(3, 8), dtype::f64));
    return b;
  };
  run_builder a = build({});
  run_builder near = build([](std::vector<double>& h) {
    for (std::size_t i = 0; i < h.size(); i += 7) h[i] = std::nextafter(h[i], i % 2 ? 2 : -2);
  });
  run_builder moved = build([](std::vector<double>& h) { std::swap(h[3], h[300]); });
  CHECK(first(compare(a.run(), near.run())) == "h input-differs");
  CHECK(first(compare(a.run(), moved.run())) == "h shard-mismatch");
}

TEST_CASE("weights that were quantised before anybody looked are the weights, off by their codes' steps") {
  const std::vector<double> w = numbers(320, 11);
  const auto reads = [](const held& weight, level keep) {
    run_builder b(1, keep);
    const double scale = weight.scale == 0 ? 1 : static_cast<double>(weight.scale);
    std::vector<double> y = weight.values;
    for (double& v : y) v = scale * decode(weight.type, encode(weight.type, v / scale));
    b->op(0, "s", "load", "copy");
    b->weight("w", weight);
    b->output("y", whole(y));
    return b;
  };
  for (const level keep : {level::tensors, level::sketch}) {
    run_builder a = reads(whole(w), keep);
    run_builder by_e4m3 = reads(coded(w, dtype::f8e4m3fn, 1.0F / 448), keep);
    std::vector<double> other = w;
    for (double& v : other) v = -v;
    for (const dtype t : {dtype::i8, dtype::i4, dtype::f8e4m3fn, dtype::f8e5m2}) {
      const float scale = t == dtype::i8 ? 1.0F / 127 : t == dtype::i4 ? 1.0F / 7 : 1.0F / 256;
      run_builder b = reads(coded(w, t, scale), keep), wrong = reads(coded(other, t, scale), keep);
      CAPTURE(name_of(t));
      CHECK(first(compare(a.run(), b.run())) == "none");
      CHECK(first(compare(by_e4m3.run(), b.run())) == "none");
      CHECK(first(compare(a.run(), wrong.run())) == "w input-differs");
    }
  }
}

// Sums over some dimensions and over everything: sum, embedding_gradient, sum_of_squares, clip_by_norm.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/expect/axes.hpp"
#include "analysis/expect/hidden.hpp"
#include "analysis/expect/kinds.hpp"
#include "analysis/expect/stagnation.hpp"

namespace numdiff::analysis::expect {
namespace {

double square(double x) {
  return x * x;
}

template <class R>
void finish_into(expectation& e, std::vector<chain<R>>& sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i].finish();
    e.set(i, sums[i].value(), sums[i].variance());
    if (sums[i].bound() > 0) e.allow(i, sums[i].bound());
    if (sums[i].overflowed()) e.mark(i, defect::accumulator_overflow);
  }
}

// A running sum that rounds after every addition.
std::vector<double> running(const tensor& x, const reduction_axes& axes, const grid& g) {
  std::vector<double> sums(axes.kept.size(), 0);
  for (const std::size_t k : axes.reduced)
    for (std::size_t r = 0; r < sums.size(); ++r) sums[r] = g.round(sums[r] + x.values[axes.kept[r] + k]);
  return sums;
}

}  // namespace

expectations sum(const call& c) {
  const tensor &x = c.read(0), &y = c.write(0);
  return in_precision_of(c, [&]<class R>() {
    expectations e;
    e.push_back(
        nearest_of(reductions(x.shape, y.shape, usual_axes::leading), y, [&](const reduction_axes& axes) {
          expectation one;
          const std::size_t n = axes.kept.size(), length = axes.reduced.size();
          one.resize(n, c.wide());
          std::vector<chain<R>> sums(n, chain<R>(c.sum(), static_cast<std::int64_t>(length)));
          if (axes.contiguous()) {
            for (std::size_t r = 0; r < n; ++r)
              for (const std::size_t k : axes.reduced)
                sums[r].add(static_cast<R>(x.values[axes.kept[r] + k]));
          } else {
            for (const std::size_t k : axes.reduced)
              for (std::size_t r = 0; r < n; ++r) sums[r].add(static_cast<R>(x.values[axes.kept[r] + k]));
          }
          finish_into(one, sums);
          for (const dtype t : {dtype::bf16, dtype::f16}) {
            if (grid_of(t).precision >= c.sum().numbers.precision) continue;
            one.hypotheses.push_back(
                {"low-precision-accumulate", std::string("the running sum holds ") + name_of(t),
                 [&x, axes, t](const expectation&) { return running(x, axes, grid_of(t)); }});
          }
          one.review = [&c, axes](const expectation& honest, judgement& j) {
            review_stagnation(c, axes, 1, honest, j);
          };
          return one;
        }));
    return e;
  });
}

expectations embedding_gradient(const call& c) {
  const tensor &ids = c.read(0), &dy = c.read(1), &table = c.write(0);
  const std::size_t width = last_of(table.shape), entries = width > 0 ? table.values.size() / width : 0;
  require(ids.values.size() * width == dy.values.size(), "ids and rows do not fit");
  const std::vector<std::uint8_t> hidden = hidden_by_code(c.op().reads[0]);
  return in_precision_of(c, [&]<class R>() {
    expectations e(1);
    e[0].resize(table.values.size(), c.wide());
    std::vector<chain<R>> sums(table.values.size(),
                               chain<R>(c.sum(), static_cast<std::int64_t>(ids.values.size())));
    for (std::size_t t = 0; t < ids.values.size(); ++t) {
      if (!hidden.empty() && hidden[t] != 0) continue;
      const double id = ids.values[t];
      require(id >= 0 && id < static_cast<double>(entries), "an id outside the table");
      const std::size_t at = static_cast<std::size_t>(id) * width;
      for (std::size_t i = 0; i < width; ++i) sums[at + i].add(static_cast<R>(dy.values[t * width + i]));
    }
    finish_into(e[0], sums);
    return e;
  });
}

// One long chain of positive addends absorbs them: 4e-4 for 3 million was seen, 16 times the rms model
// (calibration on gradient norms), and 42 times for squares of few distinct values. The limit is wide enough.
expectations sum_of_squares(const call& c) {
  require(c.reads(1), "no input is stored");
  require(c.write(0).values.size() == 1, "one value is written");
  std::int64_t n = 0;
  for (std::size_t r = 0; r < c.op().reads.size(); ++r)
    n += static_cast<std::int64_t>(c.read(r).values.size());
  return in_precision_of(c, [&]<class R>() {
    chain<R> s(c.sum(), n);
    for (std::size_t r = 0; r < c.op().reads.size(); ++r) {
      for (const double x : c.read(r).values) s.add(static_cast<R>(x) * static_cast<R>(x));
    }
    s.finish();
    expectations e(1);
    e[0].resize(1, c.wide());
    e[0].set(0, s.value(), s.variance());
    e[0].internal_limit = e[0].rms_limit = n > 4096 ? 100 : 30;
    if (s.bound() > 0) e[0].allow(0, s.bound());
    if (s.overflowed()) e[0].mark(0, defect::inner_overflow);
    return e;
  });
}

// The clipping factor is one number for all: its rounding is a common relative error.
expectations clip_by_norm(const call& c) {
  const tensor &x = c.read(0), &norm = c.read(1);
  require(norm.values.size() == 1, "the norm is one value");
  const long double top = static_cast<long double>(c.scalar("max_norm")),
                    size = static_cast<long double>(norm.values[0]);
  const bool clips = size > top;
  const long double factor = clips ? c.step(1, top / size) : 1;
  expectations e(1);
  e[0].resize(x.values.size(), c.wide());
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const long double v = static_cast<long double>(x.values[i]) * factor;
    const double magnitude = std::fabs(static_cast<double>(v));
    e[0].set(i, v, clips ? square(c.rho() * magnitude) : 0);
    if (clips) e[0].allow(i, 2 * c.unit() * magnitude);
  }
  e[0].copies = !clips && c.write(0).type == x.type;
  if (clips) e[0].know_factor("the clipping factor", static_cast<double>(factor));
  return e;
}

}  // namespace numdiff::analysis::expect

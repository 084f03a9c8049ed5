// Ops that make few numbers from many.
#include <algorithm>
#include <cmath>

#include "measure/benign/program.hpp"

namespace benign {

void reductions(program& p) {
  const auto scope = numdiff::scoped::name("reductions");
  const std::int64_t rows = p.how.batch * p.how.rows, width = p.how.width;
  const auto r = static_cast<std::size_t>(rows), w = static_cast<std::size_t>(width);
  const tensor plain = p.source({rows, width}), x = p.operand("x", plain);
  const numdiff::dtypes d = p.formats();
  values sums(w), means(r), variances(r), tops(r), counts(r);
  double squares = 0, amax = 0;
  in_inner(p, [&]<class A>() {
    for (std::size_t j = 0; j < w; ++j)
      sums[j] = sum_of<A>(p.adds, r, [&](std::size_t i) { return static_cast<A>(x[i * w + j]); });
    squares = dot_of<A>(
        p.adds, r * w, [&](std::size_t i) { return static_cast<A>(x[i]); },
        [&](std::size_t i) { return static_cast<A>(x[i]); });
    for (std::size_t i = 0; i < r; ++i) {
      const auto at = [&](std::size_t j) { return static_cast<A>(x[i * w + j]); };
      const A mean = sum_of<A>(p.adds, w, at) / static_cast<A>(width);
      means[i] = mean;
      const auto off = [&](std::size_t j) { return at(j) - mean; };
      variances[i] = dot_of<A>(p.adds, w, off, off) / static_cast<A>(width - 1);
    }
    return 0;
  });
  for (std::size_t i = 0; i < r * w; ++i) amax = std::max(amax, std::fabs(x[i]));
  recorded("sum", "sum", d.reduction(rows)).in("x", x).out("y", p.result({width}, sums));
  recorded("mean", "mean", d.reduction(width)).in("x", x).out("y", p.result({rows}, means));
  recorded("variance", "variance", d.reduction(width))
      .in("x", x)
      .scalar("correction", 1)
      .out("y", p.result({rows}, variances));
  recorded("sum_of_squares", "sum_of_squares", p.formats(p.inner).reduction(rows * width))
      .in("x", x)
      .out("y", p.result({}, {squares}, p.inner));
  recorded("amax", "amax", p.formats(p.inner)).in("x", x).out("y", p.result({}, {amax}, p.inner));
  // Rounding can make two maxima of one: ties are counted in the run's own format.
  for (std::size_t i = 0; i < r; ++i) {
    tops[i] = *std::max_element(plain.x.begin() + static_cast<std::ptrdiff_t>(i * w),
                                plain.x.begin() + static_cast<std::ptrdiff_t>((i + 1) * w));
    counts[i] =
        static_cast<double>(std::count(plain.x.begin() + static_cast<std::ptrdiff_t>(i * w),
                                       plain.x.begin() + static_cast<std::ptrdiff_t>((i + 1) * w), tops[i]));
  }
  const tensor top = p.result({rows}, tops);
  recorded("maximum", "maximum", d).in("x", plain).out("y", top);
  recorded("maximum_count", "maximum_count", numdiff::dtypes(p.real, dtype::i64, dtype::i64))
      .in("x", plain)
      .in("top", top)
      .out("count", stored(dtype::i64, {rows}, counts));
}

}  // namespace benign

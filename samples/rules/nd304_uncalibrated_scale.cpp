// ND304: a column of weights is quantised to bytes with scales that were never set. In the near miss a scale
// of one is what the values need.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 25, columns = 4;
  const bool fits = v == version::near_miss || v == version::near_miss_reference;
  const array x = mapped(dtype::f32, {rows, columns}, [&](std::size_t i) {
    return (fits ? 9.0 : 80.0) * (static_cast<double>(i * 7 % 27) - 13);
  });
  std::vector<float> scales(columns, 1);
  if (v == version::reference || v == version::near_miss_reference) {
    scales.assign(columns, 0);
    for (std::size_t i = 0; i < x.size(); ++i)
      scales[i % columns] = std::max(scales[i % columns], static_cast<float>(std::abs(x[i]) / 127));
  }
  const array y = mapped(dtype::i8, {rows, columns},
                         [&](std::size_t i) { return x[i] / static_cast<double>(scales[i % columns]); });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "table.quantize", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::i8));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen().scaled(numdiff::scale_per_column(scales.data())));
}

const reproduction nd304("ND304", run, {.own_reference = true});

}  // namespace

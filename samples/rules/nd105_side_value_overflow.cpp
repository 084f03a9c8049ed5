// ND105: rows are quantised to bytes, and the sum of each row, which a product with a zero point needs, is
// kept beside them in fp16. The near miss has smaller values, whose sums fit.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 3, width = 256;
  const bool small = v == version::near_miss || v == version::near_miss_reference;
  const double size = small ? 150 : 400;
  const array x = mapped(dtype::f32, {rows, width},
                         [&](std::size_t i) { return size * (0.5 + static_cast<double>(i % 64) / 128); });
  const float scale = static_cast<float>(size / 127);
  const array codes =
      mapped(dtype::i8, {rows, width}, [&](std::size_t i) { return x[i] / static_cast<double>(scale); });
  const dtype side = v == version::test || v == version::near_miss ? dtype::f16 : dtype::f32;
  const array sums = mapped(side, {rows}, [&](std::size_t r) {
    double total = 0;
    for (std::size_t i = r * width; i < (r + 1) * width; ++i) total += codes[i];
    return total * static_cast<double>(scale);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "rows.quantize", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::i8));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "codes", x.seen(), codes.seen().scaled(numdiff::scale_per_tensor(&scale)));
  NUMDIFF_OUTPUT(op, "row_sums", sums.seen());
}

const reproduction nd105("ND105", run, {.own_reference = true});

}  // namespace

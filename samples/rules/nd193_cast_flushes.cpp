// ND193: a cast to E4M3 without a scale makes a fifth of the values zero; the large ones stay, so the result
// is as its format explains. The near miss has a scale.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 12, columns = 20;
  const array x = mapped(dtype::f32, {rows, columns}, [](std::size_t i) {
    return (i % 5 == 0 ? 1e-4 : 0.5) * (1 + static_cast<double>(i % 7));
  });
  const float scale = v == version::near_miss ? 1.0F / 64 : 1.0F;
  const dtype stored = v == version::reference ? dtype::bf16 : dtype::f8e4m3fn;
  const array y =
      mapped(stored, {rows, columns}, [&](std::size_t i) { return x[i] / static_cast<double>(scale); });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "rows.store", cast, numdiff::dtypes(dtype::f32, dtype::f32, stored));
  NUMDIFF_INPUT(op, "x", x.seen());
  if (v == version::near_miss)
    NUMDIFF_CAST(op, "y", x.seen(), y.seen().scaled(numdiff::scale_per_tensor(&scale)));
  else
    NUMDIFF_CAST(op, "y", x.seen(), y.seen());
}

const reproduction nd193("ND193", run, {.found_in = "information_lost"});

}  // namespace

// ND501: attention weights of logits that were not scaled by 1/sqrt(d). The near miss scales, by a division.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t heads = 3, queries = 12, keys = 35;
  const double width = 80, scale = 1 / std::sqrt(width);
  const array x(dtype::bf16, {heads, queries, keys}, normal(heads * queries * keys, 161, 9));
  array p(dtype::f32, {heads, queries, keys});
  for (std::size_t row = 0; row < heads * queries; ++row) {
    float z[keys], top = -INFINITY, sum = 0;
    for (std::size_t i = 0; i < keys; ++i) {
      const auto logit = static_cast<float>(x[row * keys + i]);
      z[i] = v == version::test        ? logit
             : v == version::near_miss ? logit / std::sqrt(static_cast<float>(width))
                                       : logit * static_cast<float>(scale);
      top = std::max(top, z[i]);
    }
    for (std::size_t i = 0; i < keys; ++i) sum += std::exp(z[i] - top);
    for (std::size_t i = 0; i < keys; ++i)
      p.set(row * keys + i, static_cast<double>(std::exp(z[i] - top) / sum));
  }
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "attn.weights", softmax, numdiff::dtypes(dtype::bf16, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "logits", x.seen());
  NUMDIFF_SCALAR(op, "scale", scale);
  NUMDIFF_OUTPUT(op, "p", p.seen());
}

const reproduction nd501("ND501", run);

}  // namespace

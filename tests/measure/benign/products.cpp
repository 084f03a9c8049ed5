// A linear layer forward and backward, with and without bias, and stacked products.
#include <cmath>

#include "measure/benign/product.hpp"

namespace benign {

void products(program& p) {
  const auto scope = numdiff::scoped::name("products");
  const std::int64_t tokens = p.how.batch * p.how.rows, width = p.how.width, out = p.between(6, 70);
  const tensor x = p.source({tokens, width}), dy = p.source({tokens, out}, 0.01);
  const tensor w = p.weights({width, out}, 1 / std::sqrt(static_cast<double>(width))),
               bias = p.weights({out}, 1);
  product_options with_bias, gradient;
  with_bias.addend = &bias;
  gradient.gradient = true;
  multiplied(p, "linear", as_is(x), as_is(w));
  multiplied(p, "linear_bias", as_is(x), as_is(w), with_bias);
  multiplied(p, "input_gradient", as_is(dy), turned(w), gradient);
  multiplied(p, "weight_gradient", turned(x), as_is(dy), gradient);
  const std::int64_t k = p.between(3, 90);
  product_options scaled;
  scaled.alpha = 0.125;
  multiplied(p, "stacked", as_is(p.source({p.how.batch, p.how.rows, k})),
             as_is(p.source({p.how.batch, k, 9})), scaled);
}

}  // namespace benign

// A cast or quantisation: every element is the nearest number of the destination at its scale.
#include <cmath>

#include "analysis/expect/kinds.hpp"
#include "analysis/expect/scales.hpp"

namespace numdiff::analysis::expect {

expectations cast(const call& c) {
  const tensor &x = c.read(0), &y = c.write(0);
  require(x.values.size() == y.values.size(), "operands of different size");
  expectations e(1);
  e[0].resize(x.values.size(), c.wide());
  // The scaled value is a float before it is rounded: an encode scale and a product, one unit each.
  const double rho = rho_factor * grid_of(dtype::f32).unit();
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double v = x.values[i];
    e[0].set(i, v, y.scales.empty() ? 0 : 4 * rho * rho * v * v);
  }
  for (const dtype through : {dtype::bf16, dtype::f16}) {
    if (grid_of(through).precision <= grid_of(y.type).precision ||
        grid_of(through).precision >= grid_of(x.type).precision)
      continue;
    e[0].hypotheses.push_back({"double-rounding", std::string("rounded to ") + name_of(through) + " first",
                               [&x, through](const expectation&) {
                                 std::vector<double> values = x.values;
                                 const grid g = grid_of(through);
                                 for (double& v : values) v = g.round(v);
                                 return values;
                               }});
  }
  e[0].review = [&x, &y](const expectation& honest, judgement& j) { review_scales(x, y, honest, j); };
  return e;
}

}  // namespace numdiff::analysis::expect

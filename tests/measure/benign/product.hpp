#pragma once
// Matrix products of a run, in the run's formats and its way of adding up.
#include <string>

#include "measure/benign/program.hpp"

namespace benign {

// A factor of a product: the matrices in the order in which they are multiplied, and how memory is seen.
struct factor {
  tensor t;  // [.., rows, columns]
  numdiff::view seen;
};
inline factor as_is(const tensor& t) {
  return {t, t.view()};
}
inline factor turned(const tensor& t) {
  return {transposed(t), transposed_view(t)};
}

struct product_options {
  double alpha = 1;
  const tensor* addend = nullptr;
  bool gradient = false;
};

// Both factors as a product reads them: cast to the run's scaled format, recorded, when they have two
// dimensions. The views last as long as the factors and this.
struct operands {
  tensor x, w;
  numdiff::view x_seen, w_seen;
  product_sum how;
};
operands read_by(program& p, const std::string& name, const factor& a, const factor& b);
shape result_shape(const operands& o);
// alpha x w (+ addend), not yet rounded to the run's format.
values added_up(const program& p, const operands& o, const product_options& options);
numdiff::dtypes product_formats(const program& p, const operands& o);
recorded& record_reads(recorded& op, const operands& o, const product_options& options);

// alpha a b (+ addend), recorded.
tensor multiplied(program& p, const std::string& name, const factor& a, const factor& b,
                  const product_options& options = {});

}  // namespace benign

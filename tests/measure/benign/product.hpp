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

// alpha a b (+ addend), recorded; factors with two dimensions are cast to the run's scaled format first.
tensor multiplied(program& p, const std::string& name, const factor& a, const factor& b,
                  const product_options& o = {});

}  // namespace benign

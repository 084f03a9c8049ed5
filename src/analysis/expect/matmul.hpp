#pragma once
// A batched product with its extents, shared by its replay, its probes and its hypotheses.
#include <cstdint>
#include <vector>

#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

// C[b] = alpha A[b] B[b] (+ addend), all row-major; A and B repeat over missing leading dimensions.
struct product {
  const tensor *a, *b, *c;
  const tensor* addend = nullptr;
  double alpha = 1;
  double input_unit = 0;  // unit roundoff of declared_inputs(), 0 none
  std::size_t m, n, k, batches, a_batches, b_batches, addend_period = 1;

  explicit product(const call& from);
  [[nodiscard]] const double* left(std::size_t batch) const {
    return a->values.data() + batch % a_batches * m * k;
  }
  [[nodiscard]] const double* right(std::size_t batch) const {
    return b->values.data() + batch % b_batches * k * n;
  }
  [[nodiscard]] double added(std::size_t i) const {
    return addend != nullptr ? addend->values[i % addend_period] : 0;
  }
  [[nodiscard]] std::size_t rows() const { return batches * m; }
};

// The format to which the op record says its factors are rounded on their way to the unit (TF32), where they
// are stored in a wider one; unknown otherwise.
[[nodiscard]] dtype declared_inputs(const call& c);

// Rows of C to replay when all of them cost more than `multiply_adds`: spread evenly, and those with
// non-finite results. Empty: all.
[[nodiscard]] std::vector<std::size_t> sampled_rows(const product& p, double multiply_adds);

// Freivalds probes with signs of +-1 over whole rows, for the rows that are not replayed. The ratio of the
// rms of C r - A (B r) to what honest rounding makes of it, and its limit.
struct probe_result {
  double ratio = 0, limit = 0;
  std::int64_t row = -1;  // first row outside its own bound
};
[[nodiscard]] probe_result probe(const call& c, const product& p);

// What a faulty integer product would have computed, on the judged elements; NaN elsewhere.
[[nodiscard]] std::vector<hypothesis> product_hypotheses(const call& c, const product& p);

}  // namespace numdiff::analysis::expect

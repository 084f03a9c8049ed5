#pragma once
// The tensors of an attention op and what it says of its mask, shared by the op and its gradient.
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/expect/broadcast.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

// q [.., T, D], k [.., S, D], v [.., S, E]; one head of k and v serves equally many neighbouring ones of q.
struct heads {
  const tensor *q, *k, *v;
  std::size_t tokens, keys, width, value_width;  // T, S, D, E
  std::size_t count, group;                      // heads of q, and how many of them share one of k and v
  double scale;
  bool mask_told;  // by a read or by the scalar `causal`
  bool causal;     // each token sees the keys up to its own place from the end
  // Of what multiplies v: its unit roundoff where that is coarser than the op's arithmetic, and what of it
  // may become zero.
  double input_unit = 0, input_floor = 0;

  // q, k and v are the reads from `first` on, `mask` is another. Throws cannot_replay where the op has
  // something that the formula has not.
  heads(const call& c, std::size_t first, std::optional<std::size_t> mask);

  [[nodiscard]] const double* query(std::size_t row) const { return q->values.data() + row * width; }
  [[nodiscard]] const double* key(std::size_t row, std::size_t j) const {
    return k->values.data() + (head_of(row) * keys + j) * width;
  }
  [[nodiscard]] const double* value(std::size_t row, std::size_t j) const {
    return v->values.data() + (head_of(row) * keys + j) * value_width;
  }
  [[nodiscard]] std::size_t rows() const { return count * tokens; }
  [[nodiscard]] std::size_t head_of(std::size_t row) const { return row / tokens / group; }
  // What is added to the score: -inf where the key is not seen.
  [[nodiscard]] double added(std::size_t row, std::size_t j) const;

 private:
  std::shared_ptr<const std::vector<std::int64_t>> scores_;  // shape
  std::optional<broadcast> mask_;
  bool visible_ = false;  // the mask says what is seen, not what is added
};

// One row of probabilities, and the variances of the relative error of each and of their sum.
template <class R>
struct attention_row {
  std::vector<R> p;
  std::vector<double> relative;
  R top = 0, total = 0;
  double sum_variance = 0;
  bool masked = false, poisoned = false;

  void compute(const call& c, const heads& h, std::size_t row);
};

extern template struct attention_row<double>;
extern template struct attention_row<long double>;

// Of n addends, by their mean over random orders.
inline double variance_of_sum(double rho, double n, double squares, double result) {
  return rho * rho * ((n / 6 + 1) * squares + (n / 3 + 1) * result * result);
}

// Where no mask is told, an answer acquits, and accuses only of what has a cause.
void doubt_mask(expectation& e);
// Of two expectations with different masks, the one that what was written is nearer to.
expectations nearer(const call& c, expectations without, expectations with);

}  // namespace numdiff::analysis::expect

#pragma once
// How an op adds up, and how far an honest sum in that way may be off.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/expect/grid.hpp"
#include "model/run.hpp"

namespace numdiff::analysis::expect {

// A way to add up that is not the declared one: what a sum would be with it, to be compared with what is
// stored.
struct faulty_sum {
  grid numbers;            // the running sums are rounded to this
  bool addends = false;    // and every addend before it is added
  std::size_t lanes = 1;   // interleaved running sums, added at the end
  bool pairs = false;      // instead: neighbours are added, then neighbouring sums of two, of four, ...
  bool reversed = false;   // the last addend first
  std::int64_t parts = 0;  // instead, when above 0: contiguous parts, exact inside, rounded, then added
};

// From the compute settings of an op record. Unknown dtypes: f64 when the output is f64, else f32.
struct accumulator {
  grid numbers;                // of the running sum
  grid wide;                   // of the sum that promoted or split parts are added to
  grid partials;               // parts of a split reduction are rounded to this
  int alignment = 0;           // fraction bits kept when addends are aligned, 0: exact products
  bool truncates = false;      // toward zero
  bool sequential = false;     // the order is known to be that of the index
  std::int64_t promotion = 0;  // addends between promotions, 0 never
  std::int64_t split = 1;
  const faulty_sum* fault = nullptr;  // followed instead of the exact sum

  // Unit of one addition's error, twice the unit roundoff when it truncates.
  [[nodiscard]] double unit() const noexcept;
  // Few bits or truncation: errors may be coherent (stagnation, bias), so a rigorous bound joins the rms
  // model.
  [[nodiscard]] bool narrow() const noexcept;
};
[[nodiscard]] accumulator accumulator_of(const model::op_row& op) noexcept;

// Follows one sum of n addends. R is double or long double; the value is exact up to R.
template <class R>
class chain {
 public:
  chain(const accumulator& how, std::int64_t n) noexcept;
  // `seen`: the addend's magnitude as an aligning unit sees it, where that exceeds the true one.
  void add(R addend, double seen = 0) noexcept;
  void finish() noexcept;  // after the last addend

  [[nodiscard]] R value() const noexcept { return total_; }
  // Independent errors: (0.4247 u)^2 sum |S_k|^2 over the partial sums S_k, where addends that repeat make
  // errors that repeat and so add up, and the sum of the addends that are lost whole; not less than the
  // mean over random orders, since honest kernels add in another order (Higham and Mary, 2019), nor than two
  // lanes make of addends whose signs alternate.
  [[nodiscard]] double variance() const noexcept { return variance_; }
  // Rigorous for the declared order to first order in u: sum of min(u |S_k|, |addend|); for wide sums only
  // what stored parts lose below their normal range.
  [[nodiscard]] double bound() const noexcept { return bound_; }
  // A partial sum left the accumulator's range although every addend was finite.
  [[nodiscard]] bool overflowed() const noexcept {
    return std::isfinite(peak_) && peak_ > how_->numbers.maximum;
  }

 private:
  void close_part() noexcept;
  void follow(double addend) noexcept;
  [[nodiscard]] double followed() noexcept;

  const accumulator* how_;
  std::int64_t part_length_ = 0, in_part_ = 0, in_promotion_ = 0, n_ = 0;
  R total_ = 0;
  double part_ = 0, magnitude_ = 0, previous_ = 0, run_ = 0, chunk_ = 0, window_ = 0, peak_ = 0;
  double squares_ = 0, addend_squares_ = 0, wide_squares_ = 0, partial_squares_ = 0;
  double window_squares_ = 0, lost_ = 0, lanes_[2] = {}, lane_squares_ = 0;
  double variance_ = 0, bound_ = 0;
  double unit_ = 0, floor_ = 0;
  std::vector<double> faulty_;  // the running sums of a faulty sum
  std::vector<double> held_;    // its addends, where the last comes first
};

extern template class chain<double>;
extern template class chain<long double>;

}  // namespace numdiff::analysis::expect

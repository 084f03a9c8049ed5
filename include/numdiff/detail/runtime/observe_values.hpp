#pragma once
// Range, octaves and power sums of the decoded values of one tensor, chunk by chunk.
#include <cmath>
#include <limits>

#include "numdiff/detail/runtime/observe_codes.hpp"
#include "numdiff/detail/runtime/observe_integers.hpp"
#include "numdiff/detail/runtime/observe_statistics.hpp"
#include "numdiff/detail/runtime/observe_workspace.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

template <numdiff::dtype T>
class value_statistics {
 public:
  explicit value_statistics(observe_workspace& w) noexcept : w_(w) {}

  // A chunk of n values, all of which count. `codes` are their codes where values are codes, else null:
  // double cannot tell the octaves of 64-bit integers.
  void take_all(int n, const code_word<T>* codes) noexcept {
    take_range(range_of(w_.values, n), n, codes);
    add_sums(n);
  }

  // A chunk of which some elements are left out of the sums, see keep.
  void take_some(int n) noexcept {
    chunk_amax_ = 0;
    for (int i = 0; i < n; ++i) {
      if (w_.keep[i] == left_nonfinite) continue;
      const double x = w_.values[i];
      range_.add(x);
      add_octave(x);
      if (w_.keep[i] == left_maximum) {
        w_.values[i] = 0;
      } else if (std::fabs(x) > chunk_amax_) {
        chunk_amax_ = std::fabs(x);
      }
    }
    add_sums(n);
  }

  value_range& range() noexcept { return range_; }

  void write(capture_row& row) const noexcept {
    const double none = std::numeric_limits<double>::quiet_NaN();
    row.amax = range_.amax();
    row.smallest = range_.smallest <= std::numeric_limits<double>::max() ? range_.smallest : 0;
    row.minimum = range_.empty() ? none : range_.minimum + 0.0;
    row.maximum = range_.empty() ? none : range_.maximum + 0.0;
    double* const sum[4] = {&row.sum, &row.sum_abs, &row.sum_sq, &row.sum_4};
    for (int p = 0; p < 4; ++p) *sum[p] = sums_.total(p);
    row.sum_exponent = sums_.exponent();
  }

 private:
  void take_range(const value_range& r, int n, [[maybe_unused]] const code_word<T>* codes) noexcept {
    range_.add(r);
    chunk_amax_ = r.amax();
    if constexpr (format_of(T).kind == number_kind::integer && sizeof(code_word<T>) == 8) {
      if (codes != nullptr) {
        for (int i = 0; i < n; ++i) {
          if (codes[i] != 0) w_.octaves.add_octave(octave_as<T>(codes[i]), 1);
        }
        return;
      }
    }
    if (chunk_amax_ == 0) return;
    if (r.smallest < std::numeric_limits<double>::min()) {
      for (int i = 0; i < n; ++i) add_octave(w_.values[i]);
      return;
    }
    w_.octaves.touch(static_cast<int>(bits_of(r.smallest) >> 52));
    w_.octaves.touch(static_cast<int>(bits_of(chunk_amax_) >> 52));
    w_.octaves.add(w_.values, n);
  }

  void add_octave(double x) noexcept {
    if (x != 0) w_.octaves.add_octave(octave_of_bits(bits_of(x)), 1);
  }

  void add_sums(int n) noexcept {
    for (int i = n; i % power_sums::lanes != 0; ++i) w_.values[i] = 0;
    sums_.add(w_.values, n, chunk_amax_, w_.shifted);
  }

  observe_workspace& w_;
  value_range range_;
  double chunk_amax_ = 0;
  power_sums sums_;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

#pragma once
// Statistics of dtypes of one byte: all but digest and sketch follow from how often each code came.
#include <cmath>
#include <cstdint>

#include "numdiff/detail/runtime/observe_integers.hpp"
#include "numdiff/detail/runtime/observe_statistics.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// How many codes of four tables of counts are not finite.
inline std::uint64_t nonfinite_codes(const std::uint64_t (&codes)[4][256], const code_table& table) noexcept {
  std::uint64_t sum = 0;
  for (int i = 0; i < table.nonfinite_count; ++i) {
    for (const auto& way : codes) sum += way[table.nonfinite[i]];
  }
  return sum;
}

// Meant for dtypes of one byte; of others it is empty.
template <numdiff::dtype T>
class code_sums {
 public:
  // Adds up the counts of four tables, and counts classes.
  void take(const std::uint64_t (&codes)[4][256], class_counts& classes) noexcept {
    const code_table& table = table_of<T>();
    for (unsigned c = 0; c < 256; ++c) {
      count_[c] = codes[0][c] + codes[1][c] + codes[2][c] + codes[3][c];
      classes[table.klass[c]] += static_cast<std::int64_t>(count_[c]);
    }
  }

  // Extremes, octaves and sums of codes without scale. Sums of integers are exact before the last rounding.
  void summarise(value_range& range, octave_counts& octaves) noexcept {
    const code_table& table = table_of<T>();
    integer_sums<T> integers;
    for (unsigned c = 0; c < 256; ++c) {
      if (count_[c] == 0 || !table.finite[c]) continue;
      const double x = table.value[c];
      range.add(x);
      if (x != 0) octaves.add_octave(octave_as<T>(c), count_[c]);
      if constexpr (f.kind == number_kind::floating) {
        const double times = static_cast<double>(count_[c]);
        double terms[4] = {x * times, std::fabs(x) * times, x * x * times, x * x * (x * x) * times};
        NUMDIFF_DETAIL_KEEP_APART(terms);
        for (int p = 0; p < 4; ++p) sum_[p] += terms[p];
      } else {
        integers.add(f.kind == number_kind::integer ? signed_integer(f, trimmed(f, c)) : std::int64_t{c},
                     count_[c]);
      }
    }
    if constexpr (f.kind != number_kind::floating) {
      const double step = power_of_two(-f.mantissa_bits);
      sum_[0] = integers.sum() * step;
      sum_[1] = integers.sum_abs() * step;
      sum_[2] = integers.sum_sq() * (step * step);
      sum_[3] = integers.sum_4() * (step * step) * (step * step);
    }
  }

  // 0 of values, 1 magnitudes, 2 squares, 3 fourth powers.
  [[nodiscard]] double sum(int p) const noexcept { return sum_[p]; }

 private:
  static constexpr format f = format_of(T);
  std::uint64_t count_[256] = {};
  double sum_[4] = {};
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

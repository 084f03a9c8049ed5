#pragma once
// Exact sums of integers.
#include <cstdint>
#include <type_traits>

#include "numdiff/format.hpp"
#include "numdiff/storage.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

// Sums of x, |x| and, up to 32 bits, x^2 in 128 bits: exact for any tensor that fits in memory, rounded once
// to double. Sums of x^4 only where codes are counted (up to 8 bits).
template <numdiff::dtype T>
class integer_sums {
 public:
  using word = code_word<T>;
  static constexpr bool has_squares = sizeof(word) <= 4;

  // Codes of more than a byte.
  void add(const word* codes, int n) noexcept {
    if constexpr (sizeof(word) > 1) {
      using integer = std::conditional_t<format_of(T).is_signed, std::make_signed_t<word>, word>;
      using wide = std::conditional_t<format_of(T).is_signed, std::int64_t, std::uint64_t>;
      if constexpr (sizeof(word) <= 4) {
        wide sum = 0;
        std::uint64_t magnitudes = 0;
        for (int i = 0; i < n; ++i) {
          const wide x = static_cast<integer>(codes[i]);
          sum += x;
          magnitudes += magnitude_of(x);
        }
        sum_ += sum;
        sum_abs_ += magnitudes;
        std::conditional_t<sizeof(word) == 2, std::uint64_t, uint128> squares = 0;
        for (int i = 0; i < n; ++i) {
          const std::uint64_t m = magnitude_of(static_cast<wide>(static_cast<integer>(codes[i])));
          squares += m * m;
        }
        sum_sq_ += squares;
      } else {
        for (int i = 0; i < n; ++i) {
          const wide x = static_cast<integer>(codes[i]);
          sum_ += x;
          sum_abs_ += magnitude_of(x);
        }
      }
    }
  }

  // `count` times the integer x of a code of one byte.
  void add(std::int64_t x, std::uint64_t count) noexcept {
    const uint128 m = magnitude_of(x);
    sum_ += static_cast<int128>(x) * static_cast<int128>(count);
    sum_abs_ += m * count;
    sum_sq_ += m * m * count;
    sum_4_ += m * m * m * m * count;
  }

  [[nodiscard]] double sum() const noexcept { return static_cast<double>(sum_); }
  [[nodiscard]] double sum_abs() const noexcept { return static_cast<double>(sum_abs_); }
  [[nodiscard]] double sum_sq() const noexcept { return static_cast<double>(sum_sq_); }
  [[nodiscard]] double sum_4() const noexcept { return static_cast<double>(sum_4_); }

 private:
  template <class Wide>
  static std::uint64_t magnitude_of(Wide x) noexcept {
    if constexpr (std::is_signed_v<Wide>) {
      return x < 0 ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x);
    } else {
      return x;
    }
  }

  int128 sum_ = 0;
  uint128 sum_abs_ = 0, sum_sq_ = 0, sum_4_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

#pragma once
// Extremes, sums and octaves of decoded values. Sums are kept in 8 lanes, element i of the view in lane
// i mod 8 (hidden ones not counted), so that they are the same on every instruction set.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "numdiff/detail/bits.hpp"
#include "numdiff/detail/runtime/observe_elements.hpp"
#include "numdiff/detail/runtime/observe_lanes.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// Exponent fields of n doubles.
NUMDIFF_DETAIL_ALWAYS_INLINE void fields_of_body(const double* values, int n, std::uint16_t* field) noexcept {
  u64x8 x;
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    __builtin_memcpy(&x, values + i, sizeof x);
    const u16x8 eight = __builtin_convertvector((x >> 52) & 0x7ff, u16x8);
    __builtin_memcpy(field + i, &eight, sizeof eight);
  }
  for (; i < n; ++i) field[i] = static_cast<std::uint16_t>((bits_of(values[i]) >> 52) & 0x7ff);
}
NUMDIFF_DETAIL_CLONES(, void, fields_of, (const double* values, int n, std::uint16_t* field),
                      (values, n, field))

// Numbers of elements by octave of a double, from -1074 to 1023.
struct octave_counts {
  static constexpr int ways = 4;           // tables side by side: equal octaves do not wait for each other
  std::uint64_t normal[2048 * ways] = {};  // by exponent field; field 0 takes zeros
  std::uint64_t deep[52] = {};             // octaves -1074 ... -1023
  int first = 2048, last = -1;             // exponent fields in use

  void add_octave(int octave, std::uint64_t count) noexcept {
    if (octave < -1022) {
      if (octave >= -1074) deep[octave + 1074] += count;
    } else {
      normal[(octave + 1023) * ways] += count;
      touch(octave + 1023);
    }
  }
  // Zeros among the values are not counted; subnormal doubles must not be among them.
  void add(const double* values, int n) noexcept {
    std::uint16_t field[observe_chunk];
    fields_of(values, n, field);
    int i = 0;
    for (; i + ways <= n; i += ways) {
      ++normal[field[i] * ways];
      ++normal[field[i + 1] * ways + 1];
      ++normal[field[i + 2] * ways + 2];
      ++normal[field[i + 3] * ways + 3];
    }
    for (; i < n; ++i) ++normal[field[i] * ways];
  }
  // Exponent fields between which `add` may have counted.
  void touch(int field) noexcept {
    if (field < first) first = field;
    if (field > last) last = field;
  }
  [[nodiscard]] std::uint64_t at(int octave) const noexcept {
    if (octave < -1022) return deep[octave + 1074];
    const std::uint64_t* n = normal + (octave + 1023) * ways;
    return n[0] + n[1] + n[2] + n[3];
  }
  void clear() noexcept {
    if (first <= last) {
      std::memset(normal + first * ways, 0,
                  static_cast<std::size_t>(last - first + 1) * ways * sizeof normal[0]);
    }
    std::memset(normal, 0, ways * sizeof normal[0]);
    std::memset(deep, 0, sizeof deep);
    first = 2048;
    last = -1;
  }
  // docs/file_format.md, "Histograms": zigzag varint first octave, varint octaves, varint counts.
  void encode(std::vector<std::byte>& out) const {
    out.clear();
    int begin = -1074;
    int end = 1024;
    if (first <= last) end = last - 1023 + 1;
    bool any_deep = false;
    for (std::uint64_t n : deep) any_deep = any_deep || n != 0;
    if (!any_deep) begin = first <= last ? first - 1023 : 0;
    if (first > last) end = any_deep ? -1022 : 0;
    while (begin < end && at(begin) == 0) ++begin;
    while (end > begin && at(end - 1) == 0) --end;
    if (begin == end) begin = end = 0;
    put_varint(
        out, begin < 0 ? static_cast<std::uint64_t>(-begin) * 2 - 1 : static_cast<std::uint64_t>(begin) * 2);
    put_varint(out, static_cast<std::uint64_t>(end - begin));
    for (int o = begin; o < end; ++o) put_varint(out, at(o));
  }

 private:
  static void put_varint(std::vector<std::byte>& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
    out.push_back(static_cast<std::byte>(value));
  }
};

struct value_range {
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  double smallest = std::numeric_limits<double>::infinity();  // nonzero magnitude

  void add(double x) noexcept {
    const double magnitude = std::fabs(x);
    minimum = x < minimum ? x : minimum;
    maximum = x > maximum ? x : maximum;
    if (magnitude != 0 && magnitude < smallest) smallest = magnitude;
  }
  void add(const value_range& r) noexcept {
    minimum = r.minimum < minimum ? r.minimum : minimum;
    maximum = r.maximum > maximum ? r.maximum : maximum;
    smallest = r.smallest < smallest ? r.smallest : smallest;
  }
  [[nodiscard]] bool empty() const noexcept { return minimum > maximum; }
  [[nodiscard]] double amax() const noexcept {
    if (empty()) return 0;
    return -minimum > maximum ? -minimum : maximum;
  }
};

// Lanes of minima, maxima and smallest nonzero magnitudes of n values, a multiple of 8.
NUMDIFF_DETAIL_ALWAYS_INLINE void lane_ranges_body(const double* values, int n, double* lanes) noexcept {
  const double infinity = std::numeric_limits<double>::infinity();
  const f64x8 none = f64x8{} + infinity;
  f64x8 low = none, high = -none, small = none, x;
  for (int i = 0; i < n; i += 8) {
    __builtin_memcpy(&x, values + i, sizeof x);
    low = x < low ? x : low;
    high = x > high ? x : high;
    const f64x8 magnitude = x < 0 ? -x : x;
    const f64x8 nonzero = magnitude == 0 ? none : magnitude;
    small = nonzero < small ? nonzero : small;
  }
  __builtin_memcpy(lanes, &low, sizeof low);
  __builtin_memcpy(lanes + 8, &high, sizeof high);
  __builtin_memcpy(lanes + 16, &small, sizeof small);
}
NUMDIFF_DETAIL_CLONES(, void, lane_ranges, (const double* values, int n, double* lanes), (values, n, lanes))

inline value_range range_of(const double* values, int n) noexcept {
  double lanes[24];
  lane_ranges(values, n / 8 * 8, lanes);
  value_range r;
  for (int k = 0; k < 8; ++k) r.add(value_range{lanes[k], lanes[8 + k], lanes[16 + k]});
  for (int i = n / 8 * 8; i < n; ++i) r.add(values[i]);
  return r;
}

// Adds values, magnitudes, squares and fourth powers of n values, a multiple of 8, to four times 8 lanes.
NUMDIFF_DETAIL_ALWAYS_INLINE void add_powers_body(const double* values, int n, double* lanes) noexcept {
  f64x8 sum, sum_abs, sum_sq, sum_4, x;
  __builtin_memcpy(&sum, lanes, sizeof sum);
  __builtin_memcpy(&sum_abs, lanes + 8, sizeof sum);
  __builtin_memcpy(&sum_sq, lanes + 16, sizeof sum);
  __builtin_memcpy(&sum_4, lanes + 24, sizeof sum);
  for (int i = 0; i < n; i += 8) {
    __builtin_memcpy(&x, values + i, sizeof x);
    f64x8 square = x * x;
    NUMDIFF_DETAIL_KEEP_APART(square);
    f64x8 fourth = square * square;
    NUMDIFF_DETAIL_KEEP_APART(fourth);
    sum += x;
    sum_abs += x < 0 ? -x : x;
    sum_sq += square;
    sum_4 += fourth;
  }
  __builtin_memcpy(lanes, &sum, sizeof sum);
  __builtin_memcpy(lanes + 8, &sum_abs, sizeof sum);
  __builtin_memcpy(lanes + 16, &sum_sq, sizeof sum);
  __builtin_memcpy(lanes + 24, &sum_4, sizeof sum);
}
NUMDIFF_DETAIL_CLONES(, void, add_powers, (const double* values, int n, double* lanes), (values, n, lanes))

// Sums of v, |v|, v^2 and v^4 with v = value * 2^-exponent. The exponent is 0 while fourth powers of the
// largest magnitude neither overflow nor vanish, else the octave of that magnitude.
class power_sums {
 public:
  static constexpr int lanes = 8;

  // Values from n to the next multiple of 8 must be 0; amax is the largest magnitude among them. `scratch`
  // holds as many.
  void add(const double* values, int n, double amax, double* scratch) noexcept {
    if (amax == 0) return;
    if (amax > amax_) {
      amax_ = amax;
      rescale(exponent_for(amax));
    }
    const int end = (n + lanes - 1) / lanes * lanes;
    if (exponent_ != 0) {
      for (int i = 0; i < end; ++i) scratch[i] = shifted(values[i], -exponent_);
      values = scratch;
    }
    add_powers(values, end, sum_[0]);
  }
  // Sum of the p-th kind: 0 v, 1 |v|, 2 v^2, 3 v^4. Lanes are added from 0 to 7.
  [[nodiscard]] double total(int p) const noexcept {
    double t = 0;
    for (double lane : sum_[p]) t += lane;
    return t;
  }
  [[nodiscard]] int exponent() const noexcept { return exponent_; }

 private:
  static int exponent_for(double amax) noexcept {
    const int octave = octave_of_bits(bits_of(amax));
    return octave >= -240 && octave < 240 ? 0 : octave;
  }
  // x * 2^e, |e| <= 1074, without an intermediate overflow.
  static double shifted(double x, int e) noexcept {
    const int half = e / 2;
    return x * power_of_two(half) * power_of_two(e - half);
  }
  void rescale(int exponent) noexcept {
    const int power[4] = {1, 1, 2, 4};
    for (int p = 0; p < 4 && exponent != exponent_; ++p) {
      for (double& lane : sum_[p]) {
        for (int i = 0; i < power[p]; ++i) lane = shifted(lane, exponent_ - exponent);
      }
    }
    exponent_ = exponent;
  }

  double sum_[4][lanes] = {};
  double amax_ = 0;
  int exponent_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

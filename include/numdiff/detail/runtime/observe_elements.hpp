#pragma once
// Codes of a chunk: loading, decoding and classes, by integer bits.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "numdiff/classify.hpp"
#include "numdiff/detail/rows.hpp"
#include "numdiff/detail/runtime/observe_lanes.hpp"
#include "numdiff/detail/runtime/observe_walk.hpp"
#include "numdiff/dispatch.hpp"
#include "numdiff/storage.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline constexpr int observe_chunk = 512;

// The code without what its word may carry besides: this is what digests and payloads hold.
template <numdiff::dtype T, class Word>
constexpr Word clean_code(Word code) noexcept {
  constexpr format f = format_of(T);
  if constexpr (f.kind == number_kind::boolean) return code != 0;
  return static_cast<Word>(code & (low_mask(f.bits) << f.padding));
}

// Starts a walk over the words of an array; complex numbers are two words.
inline void start_memory(strided_walk& walk, const strided_codes& t) noexcept {
  const observed_shape shape = shape_of(t);
  std::int64_t stride[observe_max_rank];
  const bool complex = is_complex(t.type);
  for (std::uint32_t d = 0; d < t.rank; ++d) stride[d] = t.stride[d] * (complex ? 2 : 1);
  if (complex) stride[t.rank] = 1;
  walk.start(shape.rank, shape.extent, stride, 0);
}

// The next n codes, in row-major order.
template <numdiff::dtype T>
void load_codes(const strided_codes& t, strided_walk& walk, int n, code_word<T>* out) noexcept {
  using word = code_word<T>;
  const auto* bytes = static_cast<const unsigned char*>(t.data);
  for (int i = 0; i < n;) {
    const strided_walk::run r = walk.next(n - i);
    const int length = static_cast<int>(r.length);
    if (t.packed) {
      for (int j = 0; j < length; ++j) {
        const std::int64_t at = r.offset + j * r.step;
        out[i + j] = static_cast<word>((bytes[at >> 1] >> ((at & 1) * 4)) & 15);
      }
    } else if (r.step == 1) {
      std::memcpy(out + i, bytes + r.offset * static_cast<std::int64_t>(sizeof(word)),
                  static_cast<std::size_t>(length) * sizeof(word));
    } else {
      for (int j = 0; j < length; ++j) {
        std::memcpy(out + i + j, bytes + (r.offset + j * r.step) * static_cast<std::int64_t>(sizeof(word)),
                    sizeof(word));
      }
    }
    i += length;
  }
  constexpr format f = format_of(T);
  if constexpr (f.padding != 0 || f.bits < 8 * sizeof(word)) {
    for (int i = 0; i < n; ++i) out[i] = clean_code<T>(out[i]);
  }
}

// What a code of one byte means, looked up.
struct code_table {
  double value[256];  // 0 for NaN and infinities
  unsigned char finite[256];
  number_class klass[256];
  int nonfinite[256];  // the codes that are NaN or infinite
  int nonfinite_count;
};

template <numdiff::dtype T>
const code_table& table_of() noexcept {
  static const code_table table = [] {
    code_table t{};
    for (unsigned c = 0; c < 256; ++c) {
      t.klass[c] = classify_as<T>(c);
      t.finite[c] = t.klass[c] < number_class::plus_infinity;
      t.value[c] = t.finite[c] ? decode_as<T>(c) : 0;
      if (!t.finite[c] && clean_code<T>(c) == c) t.nonfinite[t.nonfinite_count++] = static_cast<int>(c);
    }
    return t;
  }();
  return table;
}

template <numdiff::dtype T>
inline constexpr bool is_tabled = sizeof(code_word<T>) == 1;

// Elements at the largest magnitude of these are left out of sums and sketch: mask fill values.
template <numdiff::dtype T>
inline constexpr bool leaves_out_maximum = format_of(T).is_float() && format_of(T).bits >= 16;

// Values of codes wider than a byte. NaN and infinities give any value; callers replace it.
template <numdiff::dtype T>
NUMDIFF_DETAIL_ALWAYS_INLINE double decode_one(code_word<T> code) noexcept {
  constexpr format f = format_of(T);
  if constexpr (T == numdiff::dtype::f64) {
    return double_of(code);
  } else if constexpr (T == numdiff::dtype::f32 || T == numdiff::dtype::tf32) {
    return static_cast<double>(float_of(code));
  } else if constexpr (f.is_float()) {
    return decode_as<T>(code);
  } else if constexpr (f.is_signed) {
    return static_cast<double>(static_cast<std::make_signed_t<code_word<T>>>(code));
  } else {
    return static_cast<double>(code);
  }
}

template <numdiff::dtype T>
NUMDIFF_DETAIL_ALWAYS_INLINE void decode_wide_body(const code_word<T>* codes, int n,
                                                   double* values) noexcept {
  constexpr format f = format_of(T);
  typename word_lanes<sizeof(code_word<T>)>::eight code;
  int i = 0;
  if constexpr (sizeof(code_word<T>) < 8) {
    for (; i + 8 <= n; i += 8) {
      __builtin_memcpy(&code, codes + i, sizeof code);
      f64x8 x;
      if constexpr (f.is_float() && f.exponent_bits == 8) {
        const u32x8 bits = __builtin_convertvector(code, u32x8)
                           << (32 - 8 * static_cast<int>(sizeof(code_word<T>)));
        f32x8 single;
        __builtin_memcpy(&single, &bits, sizeof single);
        x = __builtin_convertvector(single, f64x8);
      } else if constexpr (f.is_float()) {
        const u64x8 word = __builtin_convertvector(code, u64x8);
        const u64x8 magnitude = word & f.magnitude_mask();
        const f64x8 small = __builtin_convertvector(__builtin_convertvector(magnitude, i32x8), f64x8) *
                            power_of_two(f.min_exponent() - f.mantissa_bits);
        u64x8 bits;
        __builtin_memcpy(&bits, &small, sizeof bits);
        const u64x8 large =
            (magnitude << (52 - f.mantissa_bits)) + (static_cast<std::uint64_t>(1023 - f.bias) << 52);
        const i64x8 normal = magnitude >= (std::uint64_t{1} << f.mantissa_bits);
        bits = (normal ? large : bits) | ((word & f.sign_bit()) << (64 - f.bits));
        __builtin_memcpy(&x, &bits, sizeof x);
      } else if constexpr (sizeof(code_word<T>) == 2) {
        i32x8 integer = __builtin_convertvector(code, i32x8);
        if constexpr (f.is_signed) integer = (integer << 16) >> 16;
        x = __builtin_convertvector(integer, f64x8);
      } else if constexpr (f.is_signed) {
        i32x8 integer;
        __builtin_memcpy(&integer, &code, sizeof integer);
        x = __builtin_convertvector(integer, f64x8);
      } else {
        x = __builtin_convertvector(code, f64x8);
      }
      __builtin_memcpy(values + i, &x, sizeof x);
    }
  }
  for (; i < n; ++i) values[i] = decode_one<T>(codes[i]);
}
NUMDIFF_DETAIL_CLONES(template <numdiff::dtype T>, void, decode_wide,
                      (const code_word<T>* codes, int n, double* values), <T>(codes, n, values))

// Values of n codes with NaN and infinities in place; codes are clean.
template <numdiff::dtype T>
void decode_all(const code_word<T>* codes, int n, double* values) noexcept {
  constexpr format f = format_of(T);
  if constexpr (is_tabled<T>) {
    const code_table& table = table_of<T>();
    for (int i = 0; i < n; ++i) values[i] = table.value[codes[i]];
    if (table.nonfinite_count == 0) return;
    for (int i = 0; i < n; ++i) {
      if (!table.finite[codes[i]]) values[i] = decode_as<T>(codes[i]);
    }
  } else {
    decode_wide<T>(codes, n, values);
    if constexpr (f.is_float() && f.exponent_bits < 8) {
      for (int i = 0; i < n; ++i) {
        if ((codes[i] & f.magnitude_mask()) > f.max_code()) values[i] = decode_as<T>(codes[i]);
      }
    }
  }
}

// How many of n float codes have a magnitude below the smallest normal one, 0, or at least the largest
// finite one.
struct magnitude_counts {
  std::int64_t low = 0, zero = 0, high = 0;
};

template <numdiff::dtype T>
NUMDIFF_DETAIL_ALWAYS_INLINE magnitude_counts count_magnitudes_body(const code_word<T>* codes,
                                                                    int n) noexcept {
  using word = code_word<T>;
  using lane = std::make_signed_t<word>;
  constexpr format f = format_of(T);
  constexpr word mask = static_cast<word>(f.magnitude_mask() << f.padding);
  constexpr word normal = static_cast<word>(std::uint64_t{1} << (f.mantissa_bits + f.padding));
  constexpr word largest = static_cast<word>(f.max_code() << f.padding);
  constexpr int step = 64 / static_cast<int>(sizeof(word));
  typename word_lanes<sizeof(word)>::full low = {}, zero = {}, high = {}, magnitude;
  int i = 0;
  for (; i + step <= n; i += step) {
    __builtin_memcpy(&magnitude, codes + i, sizeof magnitude);
    magnitude &= static_cast<lane>(mask);
    low -= magnitude < static_cast<lane>(normal);
    zero -= magnitude == 0;
    high -= magnitude >= static_cast<lane>(largest);
  }
  magnitude_counts c;
  for (int k = 0; k < step; ++k) {
    c.low += low[k];
    c.zero += zero[k];
    c.high += high[k];
  }
  for (; i < n; ++i) {
    const word m = static_cast<word>(codes[i] & mask);
    c.low += m < normal;
    c.zero += m == 0;
    c.high += m >= largest;
  }
  return c;
}
NUMDIFF_DETAIL_CLONES(template <numdiff::dtype T>, magnitude_counts, count_magnitudes,
                      (const code_word<T>* codes, int n), <T>(codes, n))

// Numbers of elements by class.
struct class_counts {
  std::int64_t of[9] = {};
  std::int64_t& operator[](number_class k) noexcept { return of[static_cast<int>(k)]; }
  void write(capture_row& row) noexcept {
    class_counts& counts = *this;
    row.nan = counts[number_class::nan];
    row.positive_infinity = counts[number_class::plus_infinity];
    row.negative_infinity = counts[number_class::minus_infinity];
    row.zero = counts[number_class::zero];
    row.negative_zero = counts[number_class::negative_zero];
    row.subnormal = counts[number_class::subnormal];
    row.maximum_positive = counts[number_class::plus_maximum];
    row.maximum_negative = counts[number_class::minus_maximum];
  }
};

inline constexpr unsigned char left_nonfinite = 0, included = 1, left_maximum = 2;

// Counts the classes of n codes wider than a byte. True when every element is included; else `keep`
// says which are.
template <numdiff::dtype T>
bool count_wide(const code_word<T>* codes, int n, class_counts& counts, unsigned char* keep) noexcept {
  using word = code_word<T>;
  constexpr format f = format_of(T);
  if constexpr (f.is_float()) {
    constexpr word magnitude_mask = static_cast<word>(f.magnitude_mask() << f.padding);
    constexpr word sign = static_cast<word>(f.sign_bit() << f.padding);
    constexpr word largest = static_cast<word>(f.max_code() << f.padding);
    const magnitude_counts found = count_magnitudes<T>(codes, n);
    if (found.zero != 0) {
      std::uint32_t negative = 0;
      for (int i = 0; i < n; ++i) negative += codes[i] == sign;
      counts[number_class::negative_zero] += negative;
      counts[number_class::zero] += found.zero - negative;
    }
    counts[number_class::subnormal] += found.low - found.zero;
    if (found.high == 0) return true;
    bool all = true;
    for (int i = 0; i < n; ++i) {
      keep[i] = included;
      if (static_cast<word>(codes[i] & magnitude_mask) < largest) continue;
      const number_class k = classify_as<T>(codes[i]);
      ++counts[k];
      if (k >= number_class::plus_infinity) {
        keep[i] = left_nonfinite;
        all = false;
      } else if (leaves_out_maximum<T>) {
        keep[i] = left_maximum;
        all = false;
      }
    }
    return all;
  } else {
    constexpr word top = static_cast<word>(f.magnitude_mask());
    constexpr word bottom = static_cast<word>(f.sign_bit());
    std::uint32_t zero = 0, plus = 0, minus = 0;
    for (int i = 0; i < n; ++i) {
      zero += codes[i] == 0;
      plus += codes[i] == top;
      if constexpr (f.is_signed) minus += static_cast<word>(codes[i] - bottom) <= 1;
    }
    counts[number_class::zero] += zero;
    counts[number_class::plus_maximum] += plus;
    counts[number_class::minus_maximum] += minus;
    return true;
  }
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

#pragma once
// Codes of a chunk: loading, decoding and classes, by integer bits.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "numdiff/classify.hpp"
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
void decode_wide(const code_word<T>* codes, int n, double* values) noexcept {
  constexpr format f = format_of(T);
  if constexpr (T == numdiff::dtype::f64) {
    std::memcpy(values, codes, static_cast<std::size_t>(n) * sizeof(double));
  } else if constexpr (T == numdiff::dtype::f32 || T == numdiff::dtype::tf32) {
    for (int i = 0; i < n; ++i) values[i] = static_cast<double>(float_of(codes[i]));
  } else if constexpr (T == numdiff::dtype::bf16) {
    for (int i = 0; i < n; ++i) {
      values[i] = static_cast<double>(float_of(static_cast<std::uint32_t>(codes[i]) << 16));
    }
  } else if constexpr (f.is_float()) {
    constexpr std::uint32_t normal = 1U << f.mantissa_bits;
    constexpr double step = power_of_two(f.min_exponent() - f.mantissa_bits);
    for (int i = 0; i < n; ++i) {
      const std::uint32_t magnitude = codes[i] & static_cast<std::uint32_t>(f.magnitude_mask());
      const double small = static_cast<double>(static_cast<std::int32_t>(magnitude)) * step;
      const std::uint64_t large = (static_cast<std::uint64_t>(magnitude) << (52 - f.mantissa_bits)) +
                                  (static_cast<std::uint64_t>(1023 - f.bias) << 52);
      const std::uint64_t sign = static_cast<std::uint64_t>(codes[i] & f.sign_bit()) << (64 - f.bits);
      values[i] = double_of((magnitude < normal ? bits_of(small) : large) | sign);
    }
  } else if constexpr (f.is_signed) {
    using integer = std::make_signed_t<code_word<T>>;
    for (int i = 0; i < n; ++i) values[i] = static_cast<double>(static_cast<integer>(codes[i]));
  } else {
    for (int i = 0; i < n; ++i) values[i] = static_cast<double>(codes[i]);
  }
}

// Values of n codes with NaN and infinities in place; codes are clean.
template <numdiff::dtype T>
void decode_all(const code_word<T>* codes, int n, double* values) noexcept {
  if constexpr (T == numdiff::dtype::f64) {
    std::memcpy(values, codes, static_cast<std::size_t>(n) * sizeof(double));
  } else {
    for (int i = 0; i < n; ++i) values[i] = decode_as<T>(codes[i]);
  }
}

// Numbers of elements by class.
struct class_counts {
  std::int64_t of[9] = {};
  std::int64_t& operator[](number_class k) noexcept { return of[static_cast<int>(k)]; }
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
    constexpr word normal = static_cast<word>(std::uint64_t{1} << (f.mantissa_bits + f.padding));
    constexpr word largest = static_cast<word>(f.max_code() << f.padding);
    std::uint32_t low = 0, zero = 0, high = 0;
    for (int i = 0; i < n; ++i) {
      const word magnitude = static_cast<word>(codes[i] & magnitude_mask);
      low += magnitude < normal;
      zero += magnitude == 0;
      high += magnitude >= largest;
    }
    if (zero != 0) {
      std::uint32_t negative = 0;
      for (int i = 0; i < n; ++i) negative += codes[i] == sign;
      counts[number_class::negative_zero] += negative;
      counts[number_class::zero] += zero - negative;
    }
    counts[number_class::subnormal] += low - zero;
    if (high == 0) return true;
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

#include "analysis/arrays/block_sums.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace numdiff::analysis {

namespace {

// Lanes; the compiler splits or joins them as the processor has them.
template <class T, int Lanes>
struct vector_of {
  typedef T type __attribute__((vector_size(Lanes * sizeof(T))));
};
using reals = vector_of<double, 4>::type;
using words = vector_of<std::int64_t, 4>::type;
using floats = vector_of<float, 8>::type;
using ints = vector_of<std::int32_t, 8>::type;

#define NUMDIFF_INLINE [[gnu::always_inline]] inline

template <int Lanes, class T>
NUMDIFF_INLINE typename vector_of<T, Lanes>::type load(const T* from) noexcept {
  typename vector_of<T, Lanes>::type value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Vector>
NUMDIFF_INLINE Vector larger(Vector a, Vector b) noexcept {
  return a > b ? a : b;
}
NUMDIFF_INLINE reals magnitude(reals x) noexcept {
  return reinterpret_cast<reals>(reinterpret_cast<words>(x) & std::numeric_limits<std::int64_t>::max());
}
NUMDIFF_INLINE floats magnitude(floats x) noexcept {
  return reinterpret_cast<floats>(reinterpret_cast<ints>(x) & std::numeric_limits<std::int32_t>::max());
}

template <int Lanes, class Vector>
NUMDIFF_INLINE double most(Vector x) noexcept {
  double out = static_cast<double>(x[0]);
  for (int i = 1; i < Lanes; ++i) out = static_cast<double>(x[i]) > out ? static_cast<double>(x[i]) : out;
  return out;
}
template <int Lanes, class Vector>
NUMDIFF_INLINE std::uint64_t count_of(Vector masks) noexcept {
  std::int64_t sum = 0;
  for (int i = 0; i < Lanes; ++i) sum -= masks[i];
  return static_cast<std::uint64_t>(sum);
}
NUMDIFF_INLINE double total(reals x) noexcept {
  return (x[0] + x[1]) + (x[2] + x[3]);
}

// Sums in double over four pairs.
struct double_sums {
  reals sum{}, squares{}, reference_squares{}, worst{};
  words outside{};

  template <bool Limited>
  NUMDIFF_INLINE void add(reals r, reals t, const block_limits& limits) noexcept {
    const reals d = t - r, size = magnitude(d);
    sum += d;
    squares += d * d;
    reference_squares += r * r;
    worst = larger(size, worst);
    if constexpr (Limited) outside += (size > limits.absolute + limits.relative * magnitude(r)) & (r != t);
  }

  NUMDIFF_INLINE void finish(block_sums& out) const noexcept {
    out.sum = total(sum);
    out.squares = total(squares);
    out.reference_squares = total(reference_squares);
    out.worst = most<4>(worst);
    out.outside = count_of<4>(outside);
  }
};

// Formats whose values are floats, eight at a time; relative errors are rounded up by a few ulps of float.
template <class Code, bool Limited>
NUMDIFF_INLINE block_sums sum_floats(const Code* rc, const Code* tc, const float* rv, const float* tv,
                                     std::size_t count, const block_limits& limits) noexcept {
  constexpr auto magnitudes = static_cast<std::int32_t>(std::numeric_limits<Code>::max() >> 1);
  constexpr std::int32_t bias = std::numeric_limits<std::int32_t>::min();
  constexpr std::uint64_t all_steps = std::numeric_limits<std::uint32_t>::max();
  const auto most_steps = static_cast<std::int32_t>(
      static_cast<std::uint32_t>(limits.ulps < all_steps ? limits.ulps : all_steps) ^
      static_cast<std::uint32_t>(bias));
  const floats zero{};
  double_sums sums;
  floats poison{}, relative{}, against{}, biggest{};  // 0 x NaN and 0 x infinity are NaN
  ints ulp = ints{} + bias, different{}, zeros{}, signs{}, far{};
  for (std::size_t i = 0; i < count; i += 8) {
    for (std::size_t half = 0; half < 8; half += 4)
      sums.add<Limited>(__builtin_convertvector(load<4>(rv + i + half), reals),
                        __builtin_convertvector(load<4>(tv + i + half), reals), limits);
    const floats r = load<8>(rv + i), t = load<8>(tv + i);
    const ints a = __builtin_convertvector(load<8>(rc + i), ints),
               b = __builtin_convertvector(load<8>(tc + i), ints);
    const ints unequal = r != t, no_reference = r == zero;
    poison += zero * r + zero * t;
    const floats size = magnitude(t - r), norm = magnitude(r);
    biggest = larger(norm, biggest);
    relative = larger(size / (no_reference ? zero + std::numeric_limits<float>::infinity() : norm), relative);
    against = larger(no_reference ? size : zero, against);
    const ints ma = a & magnitudes, mb = b & magnitudes;
    const ints same_sign = ((a ^ b) & ~magnitudes) == 0;
    const ints apart = ma > mb ? ma - mb : mb - ma;
    // Up to 2^32 - 1 steps, compared shifted by 2^31.
    using unsigned_ints = vector_of<std::uint32_t, 8>::type;
    const auto both =
        reinterpret_cast<ints>(reinterpret_cast<unsigned_ints>(ma) + reinterpret_cast<unsigned_ints>(mb));
    const ints shifted = (same_sign ? apart : both) ^ bias;
    ulp = larger(shifted, ulp);
    different += unequal;
    zeros += no_reference & unequal;
    signs += (a != b) & ~unequal;
    if constexpr (Limited) far += (shifted > most_steps) & unequal;
  }
  block_sums out;
  sums.finish(out);
  for (int i = 0; i < 8; ++i) out.finite = out.finite && poison[i] == 0;
  out.largest_reference = most<8>(biggest);
  out.worst_relative = most<8>(relative) * (1 + 1e-6);
  out.worst_zero = most<8>(against);
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t steps = static_cast<std::uint32_t>(ulp[i]) ^ static_cast<std::uint32_t>(bias);
    out.worst_ulp = steps > out.worst_ulp ? steps : out.worst_ulp;
  }
  out.different = count_of<8>(different);
  if (!Limited) out.outside = out.different;
  if (Limited && limits.by_ulps) out.outside = count_of<8>(far);
  out.against_zero = count_of<8>(zeros);
  out.zero_signs = count_of<8>(signs);
  return out;
}

template <bool Limited>
NUMDIFF_INLINE block_sums sum_doubles(const std::uint64_t* rc, const std::uint64_t* tc, const double* rv,
                                      const double* tv, std::size_t count,
                                      const block_limits& limits) noexcept {
  constexpr std::int64_t magnitudes = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t bias = std::numeric_limits<std::int64_t>::min();
  const auto most_steps = static_cast<std::int64_t>(limits.ulps ^ static_cast<std::uint64_t>(bias));
  const reals zero{};
  double_sums sums;
  reals poison{}, relative{}, against{}, biggest{};
  words ulp = words{} + bias, different{}, zeros{}, signs{}, far{};
  for (std::size_t i = 0; i < count; i += 4) {
    const reals r = load<4>(rv + i), t = load<4>(tv + i);
    const words a = __builtin_convertvector(load<4>(rc + i), words),
                b = __builtin_convertvector(load<4>(tc + i), words);
    sums.add<Limited>(r, t, limits);
    const words unequal = r != t, no_reference = r == zero;
    poison += zero * r + zero * t;
    const reals size = magnitude(t - r), norm = magnitude(r);
    biggest = larger(norm, biggest);
    relative =
        larger(size / (no_reference ? zero + std::numeric_limits<double>::infinity() : norm), relative);
    against = larger(no_reference ? size : zero, against);
    const words ma = a & magnitudes, mb = b & magnitudes;
    const words same_sign = ((a ^ b) & ~magnitudes) == 0;
    const words apart = ma > mb ? ma - mb : mb - ma;
    using unsigned_words = vector_of<std::uint64_t, 4>::type;
    const auto both =
        reinterpret_cast<words>(reinterpret_cast<unsigned_words>(ma) + reinterpret_cast<unsigned_words>(mb));
    const words shifted = (same_sign ? apart : both) ^ bias;
    ulp = larger(shifted, ulp);
    different += unequal;
    zeros += no_reference & unequal;
    signs += (a != b) & ~unequal;
    if constexpr (Limited) far += (shifted > most_steps) & unequal;
  }
  block_sums out;
  sums.finish(out);
  out.finite = total(poison) == 0;
  out.largest_reference = most<4>(biggest);
  out.worst_relative = most<4>(relative);
  out.worst_zero = most<4>(against);
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t steps = static_cast<std::uint64_t>(ulp[i]) ^ static_cast<std::uint64_t>(bias);
    out.worst_ulp = steps > out.worst_ulp ? steps : out.worst_ulp;
  }
  out.different = count_of<4>(different);
  if (!Limited) out.outside = out.different;
  if (Limited && limits.by_ulps) out.outside = count_of<4>(far);
  out.against_zero = count_of<4>(zeros);
  out.zero_signs = count_of<4>(signs);
  return out;
}

template <class Code, class Real, bool Limited>
NUMDIFF_INLINE block_sums sum_any(const Code* rc, const Code* tc, const Real* rv, const Real* tv,
                                  std::size_t count, const block_limits& limits) noexcept {
  if constexpr (sizeof(Real) == 4)
    return sum_floats<Code, Limited>(rc, tc, rv, tv, count, limits);
  else
    return sum_doubles<Limited>(rc, tc, rv, tv, count, limits);
}

NUMDIFF_INLINE double worst_quotient(const float* rv, const float* tv, std::size_t count) noexcept {
  const reals zero{};
  reals worst{};
  for (std::size_t i = 0; i < count; i += 4) {
    const reals r = __builtin_convertvector(load<4>(rv + i), reals),
                t = __builtin_convertvector(load<4>(tv + i), reals);
    const words no_reference = r == zero;
    worst = larger(
        magnitude(t - r) / (no_reference ? zero + std::numeric_limits<double>::infinity() : magnitude(r)),
        worst);
  }
  return most<4>(worst);
}

template <class Real>
NUMDIFF_INLINE double sum_squares(const Real* values, std::size_t count) noexcept {
  reals sum{};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const reals x = __builtin_convertvector(load<4>(values + i), reals);
    sum += x * x;
  }
  double all = total(sum);
  for (; i < count; ++i) all += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return all;
}

#if defined(__x86_64__)
#define NUMDIFF_WIDE __attribute__((target("avx2")))
const bool has_wide = __builtin_cpu_supports("avx2") != 0;
#else
#define NUMDIFF_WIDE
constexpr bool has_wide = false;
#endif

template <class Code, class Real, bool Limited>
NUMDIFF_WIDE block_sums sum_wide(const Code* rc, const Code* tc, const Real* rv, const Real* tv,
                                 std::size_t count, const block_limits& limits) noexcept {
  return sum_any<Code, Real, Limited>(rc, tc, rv, tv, count, limits);
}
template <class Code, class Real, bool Limited>
block_sums sum_here(const Code* rc, const Code* tc, const Real* rv, const Real* tv, std::size_t count,
                    const block_limits& limits) noexcept {
  return has_wide ? sum_wide<Code, Real, Limited>(rc, tc, rv, tv, count, limits)
                  : sum_any<Code, Real, Limited>(rc, tc, rv, tv, count, limits);
}
template <class Real>
NUMDIFF_WIDE double squares_wide(const Real* values, std::size_t count) noexcept {
  return sum_squares(values, count);
}

}  // namespace

template <class Code, class Real>
block_sums sum_block(const Code* rc, const Code* tc, const Real* rv, const Real* tv, std::size_t count,
                     const block_limits& limits) noexcept {
  return limits.active ? sum_here<Code, Real, true>(rc, tc, rv, tv, count, limits)
                       : sum_here<Code, Real, false>(rc, tc, rv, tv, count, limits);
}

double worst_relative(const float* reference, const float* test, std::size_t count) noexcept {
  return worst_quotient(reference, test, count);
}

template <class Real>
double finite_squares(const Real* values, std::size_t count, std::uint64_t& finite) noexcept {
  finite = count;
  double sum = has_wide ? squares_wide(values, count) : sum_squares(values, count);
  if (std::isfinite(sum)) return sum;
  sum = 0;
  finite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) continue;
    ++finite;
    sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  return sum;
}

template block_sums sum_block(const std::uint8_t*, const std::uint8_t*, const float*, const float*,
                              std::size_t, const block_limits&) noexcept;
template block_sums sum_block(const std::uint16_t*, const std::uint16_t*, const float*, const float*,
                              std::size_t, const block_limits&) noexcept;
template block_sums sum_block(const std::uint32_t*, const std::uint32_t*, const float*, const float*,
                              std::size_t, const block_limits&) noexcept;
template block_sums sum_block(const std::uint64_t*, const std::uint64_t*, const double*, const double*,
                              std::size_t, const block_limits&) noexcept;
template double finite_squares(const float*, std::size_t, std::uint64_t&) noexcept;
template double finite_squares(const double*, std::size_t, std::uint64_t&) noexcept;

}  // namespace numdiff::analysis

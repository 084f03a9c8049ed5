// Floating-point numbers. Blocks of finite numbers of one format go through vector code; what is not finite,
// of unusual size or of two formats goes through long double, which holds every value of all formats.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "analysis/arrays/block_sums.hpp"
#include "analysis/arrays/number_tally.hpp"
#include "numdiff/convert.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

using model::element_part;
using model::part_kind;

constexpr std::size_t block = 4096;
constexpr int extended_mantissa = 63;

long double value_of(const element_part& part, const std::byte* bytes) noexcept {
  return part.kind == part_kind::real ? real_at(part, bytes)
                                      : static_cast<long double>(integer_at(part, bytes));
}

// Distance between neighbours of a part's format around x; 1 for integers.
long double step_at(const element_part& part, long double x) noexcept {
  if (part.kind != part_kind::real) return 1;
  if (part.format == dtype::unknown)
    return x == 0 ? std::numeric_limits<long double>::denorm_min()
                  : std::ldexp(1.0L, std::ilogb(x) - extended_mantissa);
  const format f = format_of(part.format);
  const auto smallest = static_cast<long double>(f.min_subnormal());
  return x == 0 ? smallest : std::max(std::ldexp(1.0L, std::ilogb(x) - f.mantissa_bits), smallest);
}

// Steps between two codes of one format.
std::uint64_t steps_between(std::uint64_t a, std::uint64_t b, unsigned bits) noexcept {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  const std::uint64_t ma = a & (sign - 1), mb = b & (sign - 1);
  return ((a ^ b) & sign) != 0 ? ma + mb : ma > mb ? ma - mb : mb - ma;
}

class real_tally : public number_tally {
 public:
  explicit real_tally(const compared_parts& parts)
      : number_tally(parts),
        same_format_(parts.reference.kind == part_kind::real && parts.test.kind == part_kind::real &&
                     parts.reference.format == parts.test.format &&
                     parts.reference.format != dtype::unknown) {}

  void add(std::span<const std::byte> reference, std::span<const std::byte> test,
           const box_indices& where) override {
    add_one_by_one(reference.data(), test.data(), 0, reference.size() / parts_.reference.bytes, where);
  }

 protected:
  void add_one_by_one(const std::byte* reference, const std::byte* test, std::uint64_t first,
                      std::uint64_t count, const box_indices& where) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::byte *r = reference + i * parts_.reference.bytes, *t = test + i * parts_.test.bytes;
      pair(value_of(parts_.reference, r), value_of(parts_.test, t), r, t, where, first + i);
    }
  }

  bool same_format_;

 private:
  void pair(long double a, long double b, const std::byte* r, const std::byte* t, const box_indices& where,
            std::uint64_t i) {
    number_sums& s = sums_;
    ++s.compared;
    if (!std::isfinite(a) || !std::isfinite(b)) return special(a, b, r, t, where, i);
    ++s.finite;
    s.reference_squares += a * a;
    if (a == b) {
      if (a == 0 && std::signbit(a) != std::signbit(b)) ++s.zero_signs;
      return;
    }
    const std::uint64_t flat = where.flat(i);
    const long double d = b - a, size = as_vector_code(d, b, a), norm = std::fabs(a);
    s.sum += d;
    s.squares += d * d;
    const long double steps = ulps(a, b, r, t);
    if (within(size, norm, steps)) {
      ++s.accepted;
    } else {
      ++s.different;
      take_first(flat, r, t);
    }
    take(s.absolute, size, flat, r, t);
    take(s.ulp, steps, flat, r, t);
    if (a == 0) {
      ++s.against_zero;
      take(s.zero, size, flat, r, t);
    } else {
      take(s.relative, quotient(size, norm), flat, r, t);
    }
  }

  // Sizes and quotients rounded as the vector code rounds them, where that can: equal ones must stay equal.
  [[nodiscard]] long double as_vector_code(long double d, long double b, long double a) const noexcept {
    const double rounded = static_cast<double>(b) - static_cast<double>(a);
    return std::fabs(same_format_ && std::isnormal(rounded) ? static_cast<long double>(rounded) : d);
  }
  [[nodiscard]] long double quotient(long double size, long double norm) const noexcept {
    const double rounded = static_cast<double>(size) / static_cast<double>(norm);
    return same_format_ && std::isnormal(rounded) ? static_cast<long double>(rounded) : size / norm;
  }

  // At least one is a NaN or an infinity.
  void special(long double a, long double b, const std::byte* r, const std::byte* t, const box_indices& where,
               std::uint64_t i) {
    number_sums& s = sums_;
    if (std::isnan(a) && std::isnan(b)) {
      ++s.nan_both;
      return;
    }
    if (a == b) {
      ++s.inf_both;
      return;
    }
    if (std::isnan(a)) {
      ++s.nan_reference;
    } else if (std::isnan(b)) {
      ++s.nan_test;
    } else {
      ++s.inf_mismatch;
    }
    ++s.different;
    take_first(where.flat(i), r, t);
  }

  [[nodiscard]] long double ulps(long double a, long double b, const std::byte* r,
                                 const std::byte* t) const noexcept {
    if (same_format_) {
      std::uint64_t codes[2] = {};
      std::memcpy(&codes[0], r, parts_.reference.bytes);
      std::memcpy(&codes[1], t, parts_.test.bytes);
      return static_cast<long double>(
          steps_between(codes[0], codes[1], static_cast<unsigned>(parts_.reference.bytes * 8)));
    }
    return std::fabs(b - a) / std::max(step_at(parts_.reference, a), step_at(parts_.test, a));
  }

  [[nodiscard]] bool within(long double size, long double norm, long double steps) const noexcept {
    const tolerance& limit = parts_.accepts;
    if (!limit.any()) return false;
    if (limit.ulps) return steps <= static_cast<long double>(*limit.ulps);
    return static_cast<double>(size) <= limit.absolute + limit.relative * static_cast<double>(norm);
  }
};

template <class Code, class Real>
class vector_tally final : public real_tally {
 public:
  explicit vector_tally(const compared_parts& parts) : real_tally(parts) {
    limits_.active = parts.accepts.any();
    limits_.by_ulps = parts.accepts.ulps.has_value();
    limits_.ulps = parts.accepts.ulps.value_or(0);
    limits_.absolute = parts.accepts.absolute;
    limits_.relative = parts.accepts.relative;
  }

  void add(std::span<const std::byte> reference, std::span<const std::byte> test,
           const box_indices& where) override {
    const std::uint64_t count = reference.size() / sizeof(Code);
    for (std::uint64_t first = 0; first < count; first += block) {
      const std::uint64_t n = std::min<std::uint64_t>(block, count - first);
      add_block(reference.data() + first * sizeof(Code), test.data() + first * sizeof(Code), first, n, where);
    }
  }

 private:
  static constexpr bool plain = sizeof(Code) == sizeof(Real);

  struct side {
    const Real* values;
    const Code* codes;
    std::vector<Real> value_buffer;
    std::vector<Code> code_buffer;
  };

  // Values and codes of a block, padded with zeros to a multiple of 8; in place where that is so already.
  void look_at(side& s, const std::byte* codes, std::uint64_t n) {
    s.codes = reinterpret_cast<const Code*>(codes);
    if (plain && n % 8 == 0) {
      s.values = reinterpret_cast<const Real*>(codes);
      return;
    }
    s.value_buffer.assign(block, Real{0});
    if constexpr (plain) {
      std::memcpy(s.value_buffer.data(), codes, n * sizeof(Real));
    } else {
      decode(parts_.reference.format, codes, s.value_buffer.data(), n);
    }
    s.values = s.value_buffer.data();
    if (n % 8 == 0) return;
    s.code_buffer.assign(block, Code{0});
    std::memcpy(s.code_buffer.data(), codes, n * sizeof(Code));
    s.codes = s.code_buffer.data();
  }

  void add_block(const std::byte* reference, const std::byte* test, std::uint64_t first, std::uint64_t n,
                 const box_indices& where) {
    look_at(reference_, reference, n);
    if (std::memcmp(reference, test, n * sizeof(Code)) == 0 && add_equal(reference_.values, n)) return;
    look_at(test_, test, n);
    const block_sums found =
        sum_block(reference_.codes, test_.codes, reference_.values, test_.values, (n + 7) / 8 * 8, limits_);
    if (!found.finite || unusual(found)) return add_one_by_one(reference, test, first, n, where);
    add_found(found, first, n, where);
  }

  // Two equal blocks; false when their squares leave the range of double.
  bool add_equal(const Real* r, std::uint64_t n) {
    std::uint64_t finite = 0;
    const double squares = finite_squares(r, n, finite);
    if (!std::is_same_v<Real, float> && (std::isinf(squares) || squares < tiny_square)) return false;
    sums_.compared += n;
    sums_.finite += finite;
    sums_.reference_squares += static_cast<long double>(squares);
    for (std::uint64_t i = 0; finite != n && i < n; ++i) {
      if (std::isnan(r[i])) ++sums_.nan_both;
      if (std::isinf(r[i])) ++sums_.inf_both;
    }
    return true;
  }

  static constexpr double tiny = 1e-140, tiny_square = 1e-280, huge = 1e140;

  // Squares of such numbers are not doubles.
  static bool unusual(const block_sums& s) noexcept {
    if (std::is_same_v<Real, float>) return false;
    const auto strange = [](double x) { return x != 0 && !(x > tiny && x < huge); };
    return strange(s.worst) || strange(s.largest_reference) || std::isinf(s.worst_relative);
  }

  void add_found(const block_sums& found, std::uint64_t first, std::uint64_t n, const box_indices& where) {
    number_sums& s = sums_;
    s.compared += n;
    s.finite += n;
    s.sum += static_cast<long double>(found.sum);
    s.squares += static_cast<long double>(found.squares);
    s.reference_squares += static_cast<long double>(found.reference_squares);
    s.different += found.outside;
    s.accepted += found.different - found.outside;
    s.against_zero += found.against_zero;
    s.zero_signs += found.zero_signs;
    if (found.different == 0) return;
    const std::uint64_t begin = where.flat(first);
    const auto worse = [&](const peak& top, double value) {
      return value > 0 && top.takes(static_cast<long double>(value), begin);
    };
    if ((found.outside != 0 && s.first.takes(1, begin)) || worse(s.absolute, found.worst) ||
        worse(s.zero, found.worst_zero) || s.ulp.takes(static_cast<long double>(found.worst_ulp), begin) ||
        (worse(s.relative, found.worst_relative) && worse(s.relative, exact_relative(found, n))))
      find_places(first, n, where);
  }

  [[nodiscard]] double exact_relative(const block_sums& found, std::uint64_t n) const {
    if constexpr (std::is_same_v<Real, float>)
      return worst_relative(reference_.values, test_.values, (n + 7) / 8 * 8);
    return found.worst_relative;
  }

  // A block that holds a new extreme is walked once more for its place.
  void find_places(std::uint64_t first, std::uint64_t n, const box_indices& where) {
    number_sums& s = sums_;
    const Code *rc = reference_.codes, *tc = test_.codes;
    for (std::uint64_t i = 0; i < n; ++i) {
      const double a = static_cast<double>(reference_.values[i]), b = static_cast<double>(test_.values[i]);
      if (a == b) continue;
      const double size = std::fabs(b - a), norm = std::fabs(a);
      const std::uint64_t steps = steps_between(rc[i], tc[i], 8 * sizeof(Code));
      const std::uint64_t flat = where.flat(first + i);
      const auto* r = reinterpret_cast<const std::byte*>(rc + i);
      const auto* t = reinterpret_cast<const std::byte*>(tc + i);
      const bool accepted =
          limits_.active &&
          (limits_.by_ulps ? steps <= limits_.ulps : size <= limits_.absolute + limits_.relative * norm);
      if (!accepted) take_first(flat, r, t);
      take(s.absolute, static_cast<long double>(size), flat, r, t);
      take(s.ulp, static_cast<long double>(steps), flat, r, t);
      if (a == 0)
        take(s.zero, static_cast<long double>(size), flat, r, t);
      else
        take(s.relative, static_cast<long double>(size / norm), flat, r, t);
    }
  }

  block_limits limits_;
  side reference_{}, test_{};
};

}  // namespace

std::unique_ptr<tally> make_real_tally(const compared_parts& parts) {
  const bool one_format = parts.reference.kind == part_kind::real && parts.test.kind == part_kind::real &&
                          parts.reference.format == parts.test.format &&
                          parts.reference.format != dtype::unknown;
  if (!one_format) return std::make_unique<real_tally>(parts);
  switch (parts.reference.bytes) {
    case 1: return std::make_unique<vector_tally<std::uint8_t, float>>(parts);
    case 2: return std::make_unique<vector_tally<std::uint16_t, float>>(parts);
    case 4: return std::make_unique<vector_tally<std::uint32_t, float>>(parts);
    default: return std::make_unique<vector_tally<std::uint64_t, double>>(parts);
  }
}

}  // namespace numdiff::analysis

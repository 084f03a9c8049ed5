// Errors of floating-point arrays against a slow walk in long double over the same pairs.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "analysis/arrays/array_comparison.hpp"
#include "memory_file.hpp"
#include "numdiff/convert.hpp"
#include "numdiff/format.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::array_row;

namespace {

struct answer {
  std::uint64_t different = 0, nan_reference = 0, nan_test = 0, nan_both = 0, inf_both = 0, inf_mismatch = 0;
  std::uint64_t against_zero = 0, zero_signs = 0, first = 0;
  long double absolute = 0, relative = 0, zero = 0, ulp = 0, squares = 0, reference_squares = 0, sum = 0,
              finite = 0;
};

// Position of a code among all codes of its format, counted one by one from minus to plus infinity.
__extension__ using wide = __int128;
template <class Code>
wide place(Code code) {
  constexpr int bits = 8 * sizeof(Code);
  const auto magnitude = static_cast<wide>(code & static_cast<Code>(std::numeric_limits<Code>::max() >> 1));
  return (code >> (bits - 1)) != 0 ? -magnitude : magnitude;
}

template <class Code>
answer walk(dtype type, const std::vector<Code>& a, const std::vector<Code>& b) {
  answer out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double r = 0, t = 0;
    decode(type, &a[i], &r, 1);
    decode(type, &b[i], &t, 1);
    if (std::isnan(r) || std::isnan(t)) {
      ++(std::isnan(r) && std::isnan(t) ? out.nan_both : std::isnan(r) ? out.nan_reference : out.nan_test);
    } else if (std::isinf(r) || std::isinf(t)) {
      ++(r == t ? out.inf_both : out.inf_mismatch);
    }
    const bool same = r == t || (std::isnan(r) && std::isnan(t));
    if (!same && out.different++ == 0) out.first = i;
    if (!std::isfinite(r) || !std::isfinite(t)) continue;
    const long double x = r, y = t;
    out.finite += 1;
    out.reference_squares += x * x;
    out.squares += (y - x) * (y - x);
    out.sum += y - x;
    if (x == 0 && y == 0 && std::signbit(r) != std::signbit(t)) ++out.zero_signs;
    const long double size = std::fabs(y - x);
    out.absolute = std::max(out.absolute, size);
    if (x == 0 && y != 0) {
      ++out.against_zero;
      out.zero = std::max(out.zero, size);
    } else if (x != 0) {
      out.relative = std::max(out.relative, size / std::fabs(x));
    }
    const wide steps = place(b[i]) > place(a[i]) ? place(b[i]) - place(a[i]) : place(a[i]) - place(b[i]);
    if (!same) out.ulp = std::max(out.ulp, static_cast<long double>(steps));
  }
  return out;
}

template <class Code>
array_row compared(dtype type, const std::vector<Code>& a, const std::vector<Code>& b,
                   const model::extents& shape, const model::array_layout& left = {},
                   const model::array_layout& right = {}) {
  const auto part = part_of<Code>(model::part_kind::real, name_of(type), type);
  memory_array x = array_of(part, a, shape), y = array_of(part, b, shape);
  x.layout = left;
  y.layout = right;
  memory_file reference({{"/x", x}}), test({{"/x", y}});
  const analysis::array_comparison c = analysis::compare_arrays(reference, test, {});
  const auto& rows = c.different.empty() ? c.noted : c.different;
  CHECK(c.elements == a.size());
  return rows.empty() ? array_row{} : rows.front();  // nothing to say of equal ones
}

template <class Code>
void check(dtype type, const std::vector<Code>& a, const std::vector<Code>& b, const model::extents& shape,
           const model::array_layout& left = {}, const model::array_layout& right = {}) {
  const answer want = walk(type, a, b);
  const array_row got = compared(type, a, b, shape, left, right);
  INFO(name_of(type));
  CHECK((got.compared == a.size() || got.different + got.nan_both + got.inf_both + got.zero_signs == 0));
  CHECK(got.different == want.different);
  CHECK(got.nan_both == want.nan_both);
  CHECK(got.nan_reference == want.nan_reference);
  CHECK(got.nan_test == want.nan_test);
  CHECK(got.inf_both == want.inf_both);
  CHECK(got.inf_mismatch == want.inf_mismatch);
  CHECK(got.against_zero == want.against_zero);
  CHECK(got.zero_signs == want.zero_signs);
  if (want.different != 0) CHECK(got.first.flat == want.first);
  const auto near = [](long double x, long double y) {
    return x == y || std::fabs(x - y) <= 1e-12L * std::max(std::fabs(x), std::fabs(y));
  };
  CHECK(near(got.absolute.value, want.absolute));
  CHECK(near(got.relative.value, want.relative));
  CHECK(near(got.zero.value, want.zero));
  CHECK(got.ulp.value == want.ulp);
  // At the places told stand the largest errors.
  const auto alone = [&](const analysis::extreme& e) {
    return e.there ? walk<Code>(type, {a[e.flat]}, {b[e.flat]}) : answer{};
  };
  CHECK(near(alone(got.absolute).absolute, want.absolute));
  CHECK(near(alone(got.relative).relative, want.relative));
  CHECK(near(alone(got.zero).zero, want.zero));
  CHECK(alone(got.ulp).ulp == want.ulp);
  const long double norm = want.squares == 0             ? 0
                           : want.reference_squares == 0 ? HUGE_VALL
                                                         : std::sqrt(want.squares / want.reference_squares);
  CHECK(near(got.relative_l2, norm));
  const long double size = std::sqrt(want.squares / std::max(want.finite, 1.0L));
  CHECK(std::fabs(got.bias - (want.finite > 0 ? want.sum / want.finite : 0)) <=
        1e-11L * size + std::numeric_limits<double>::denorm_min());
}

// Values of ordinary size with small errors, and `strange` codes of any kind in a thousand.
template <class Code>
std::pair<std::vector<Code>, std::vector<Code>> some(dtype type, std::size_t n, unsigned strange,
                                                     std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Code> a(n), b(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = normal(random), y = random() % 3 == 0 ? x : x * (1 + 0.01 * normal(random));
    encode(type, &x, &a[i], 1);
    encode(type, &y, &b[i], 1);
    if (random() % 1000 < strange) a[i] = static_cast<Code>(random());
    if (random() % 1000 < strange) b[i] = static_cast<Code>(random());
    if (random() % 1000 < strange) a[i] = b[i] = static_cast<Code>(random());
    if (random() % 1000 < strange) a[i] = 0;
    if (random() % 1000 < strange) b[i] = static_cast<Code>(Code{1} << (8 * sizeof(Code) - 1));
  }
  return {a, b};
}

template <class Code>
void check_format(dtype type) {
  for (const std::size_t n : std::initializer_list<std::size_t>{1, 3, 4, 5, 4095, 4096, 4097, 20'001})
    for (const unsigned strange : {0U, 2U, 300U}) {
      const auto [a, b] = some<Code>(type, n, strange, n + strange);
      check(type, a, b, {n});
    }
}

}  // namespace

TEST_CASE("f64") {
  check_format<std::uint64_t>(dtype::f64);
}
TEST_CASE("f32") {
  check_format<std::uint32_t>(dtype::f32);
}
TEST_CASE("f16") {
  check_format<std::uint16_t>(dtype::f16);
}
TEST_CASE("bf16") {
  check_format<std::uint16_t>(dtype::bf16);
}
TEST_CASE("f8e4m3fn") {
  check_format<std::uint8_t>(dtype::f8e4m3fn);
}
TEST_CASE("f8e5m2") {
  check_format<std::uint8_t>(dtype::f8e5m2);
}

TEST_CASE("sizes whose squares are no doubles") {
  for (const double size : {1e-320, 1e-200, 1e-150, 1e150, 1e200, 1e308}) {
    std::mt19937_64 random(3);
    std::vector<std::uint64_t> a(5000), b(5000);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double x = size * (1 + static_cast<double>(random() % 100) / 200),
                   y = random() % 2 == 0 ? x : x / 3;
      std::memcpy(&a[i], &x, 8);
      std::memcpy(&b[i], &y, 8);
    }
    check(dtype::f64, a, b, {5000});
  }
  const double most = std::numeric_limits<double>::max(), least = -most;
  std::vector<std::uint64_t> a(8), b(8);
  std::memcpy(&a[3], &most, 8);
  std::memcpy(&b[3], &least, 8);
  check(dtype::f64, a, b, {8});
}

TEST_CASE("every layout gives the same answer") {
  const model::extents shape = {61, 7, 113};
  const auto [a, b] = some<std::uint32_t>(dtype::f32, 61 * 7 * 113, 3, 11);
  const model::array_layout plain, chunks{{10, 3, 50}}, tall{{61, 1, 1}}, columns{{}, true},
      packed{{}, false, true}, packed_columns{{}, true, true},
      large{{60, 7, 113}, false, false, std::uint64_t{1} << 30};
  for (const auto& left : {plain, chunks, tall, columns, packed, packed_columns, large})
    for (const auto& right : {plain, chunks, tall, columns, packed, packed_columns, large})
      check(dtype::f32, a, b, shape, left, right);
}

TEST_CASE("two threads give the same sums as one") {
  const std::size_t n = std::size_t{5} << 20;
  const auto [a, b] = some<std::uint32_t>(dtype::f32, n, 0, 5);
  model::array_layout one;
  one.block_bytes = std::uint64_t{1} << 30;
  const array_row fast = compared(dtype::f32, a, b, {n});
  for (int again = 0; again < 3; ++again) {
    const array_row other = compared(dtype::f32, a, b, {n}, again == 0 ? one : model::array_layout{});
    CHECK(fast.relative_l2 == other.relative_l2);
    CHECK(fast.bias == other.bias);
    CHECK(fast.relative.flat == other.relative.flat);
    CHECK(fast.different == other.different);
  }
}

TEST_CASE("values read back") {
  const float third = 1.0F / 3;
  std::uint32_t code = 0;
  std::memcpy(&code, &third, 4);
  const array_row row = compared<std::uint32_t>(dtype::f32, {code}, {code + 1}, {1});
  CHECK(std::strtof(row.first.reference.c_str(), nullptr) == third);
  CHECK(std::strtof(row.first.test.c_str(), nullptr) == std::nextafter(third, 1.0F));
  CHECK(row.ulp.value == 1);
}

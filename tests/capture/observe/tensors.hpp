#pragma once
// Tensors of random codes with every class in them, and the check of an observation against the oracle.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "capture/observe/oracle.hpp"
#include "model/run.hpp"

namespace numdiff::detail {
// Compiled once for the tests, in observe_under_test.cpp.
bool observe_for_test(const observe_input& in, observation& out) noexcept;
}  // namespace numdiff::detail

namespace tensors {

using numdiff::dtype;
namespace detail = numdiff::detail;

inline std::vector<dtype> all_dtypes() {
  std::vector<dtype> all;
  for (std::uint16_t i = 1; i < numdiff::dtype_count; ++i) all.push_back(static_cast<dtype>(i));
  return all;
}

// Random codes: half uniform bits, half zeros, maxima, infinities, NaN and their neighbours.
inline std::vector<unsigned char> random_codes(dtype t, std::size_t elements, unsigned seed,
                                               bool specials = true) {
  std::mt19937_64 random(seed);
  const dtype p = oracle::part_type(t);
  const numdiff::format f = numdiff::format_of(p);
  const std::size_t size = numdiff::bytes_of(p);
  const std::size_t count = elements * (p == t ? 1 : 2);
  std::vector<unsigned char> bytes(count * size + 1);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t code = random();
    if (specials && random() % 2 == 0) {
      const std::uint64_t special[] = {0,
                                       f.max_code(),
                                       f.infinity_code(),
                                       f.infinity_code() + 1,
                                       1,
                                       std::uint64_t{1} << f.mantissa_bits,
                                       f.magnitude_mask()};
      code = (special[random() % 7] | (random() % 2 ? f.sign_bit() : 0)) << f.padding;
    } else if (f.kind == numdiff::number_kind::floating && f.bits >= 16) {
      // Values near 1, so that sums are not ruled by one element.
      const std::uint64_t exponent = static_cast<std::uint64_t>(f.bias) - 4 + random() % 8;
      code = ((random() & (f.sign_bit() | ((std::uint64_t{1} << f.mantissa_bits) - 1))) |
              (exponent << f.mantissa_bits))
             << f.padding;
    }
    std::memcpy(bytes.data() + i * size, &code, size);
  }
  return bytes;
}

inline detail::strided_codes dense(const void* data, dtype t, const std::vector<std::int64_t>& extent) {
  detail::strided_codes c;
  c.data = data;
  c.type = t;
  c.rank = static_cast<std::uint32_t>(extent.size());
  std::int64_t stride = 1;
  for (std::size_t d = extent.size(); d-- > 0;) {
    c.extent[d] = extent[d];
    c.stride[d] = stride;
    stride *= extent[d];
  }
  return c;
}

inline bool close(double got, const oracle::wide& want, const oracle::wide& magnitude) {
  if (!std::isfinite(got)) return false;
  return abs(oracle::wide(got) - want) <= magnitude * 1e-13;
}

inline bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

inline std::map<int, std::uint64_t> decoded(const std::vector<std::byte>& encoded) {
  const numdiff::model::histogram h = numdiff::model::decode_histogram(encoded);
  std::map<int, std::uint64_t> octaves;
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    if (h.counts[i]) octaves[h.first + static_cast<int>(i)] = h.counts[i];
  }
  return octaves;
}

inline void check(const detail::observe_input& in) {
  const oracle::result want = oracle::reference(in);
  detail::observation got;
  REQUIRE(detail::observe_for_test(in, got));
  const detail::capture_row& row = got.row;
  using numdiff::number_class;
  auto count = [&](number_class k) { return want.classes[static_cast<std::size_t>(k)]; };
  CHECK(row.count == want.count);
  CHECK(row.hidden == want.hidden);
  CHECK(row.nan == count(number_class::nan));
  CHECK(row.positive_infinity == count(number_class::plus_infinity));
  CHECK(row.negative_infinity == count(number_class::minus_infinity));
  CHECK(row.zero == count(number_class::zero));
  CHECK(row.negative_zero == count(number_class::negative_zero));
  CHECK(row.subnormal == count(number_class::subnormal));
  CHECK(row.maximum_positive == count(number_class::plus_maximum));
  CHECK(row.maximum_negative == count(number_class::minus_maximum));
  CHECK(row.amax == want.amax);
  CHECK(row.smallest == want.smallest);
  CHECK(same_bits(row.minimum, want.minimum + 0.0));
  CHECK(same_bits(row.maximum, want.maximum + 0.0));
  CHECK(row.first_nonfinite == want.first_nonfinite);
  const oracle::wide unit = ldexp(oracle::wide(1), -row.sum_exponent);
  CHECK(close(row.sum, want.sum * unit, want.sum_abs * unit));
  CHECK(close(row.sum_abs, want.sum_abs * unit, want.sum_abs * unit));
  CHECK(close(row.sum_sq, want.sum_sq * unit * unit, want.sum_sq * unit * unit));
  const oracle::wide fourth = unit * unit * unit * unit;
  CHECK(close(row.sum_4, want.sum_4 * fourth, want.sum_4 * fourth));
  CHECK(row.digest0 == want.digest.sum[0]);
  CHECK(row.digest1 == want.digest.sum[1]);
  CHECK(decoded(got.histogram) == want.octaves);
  CHECK(got.has_sketch == (in.level >= numdiff::level::sketch));
  if (got.has_sketch) {
    bool equal = true;
    for (std::size_t i = 0; i < want.sketch.size(); ++i)
      equal = equal && same_bits(got.sketch[i], want.sketch[i]);
    CHECK(equal);
  }
  CHECK(got.has_values ==
        (in.level == numdiff::level::tensors || (in.level == numdiff::level::sketch && want.count <= 256)));
  if (got.has_values) CHECK(got.values == want.values);
  CHECK(got.has_scales == (in.scaling.scales != nullptr));
  if (got.has_scales) CHECK(decoded(got.block_histogram) == want.relative);
}

}  // namespace tensors

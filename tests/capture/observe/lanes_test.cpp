// Every clone of the hot loops gives the same bits.
#include "numdiff/detail/runtime/observe_lanes.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "numdiff/detail/runtime/observe_keyed.hpp"
#include "numdiff/detail/runtime/observe_statistics.hpp"

#if defined(__x86_64__)

using namespace numdiff::detail;
using numdiff::dtype;

namespace {

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Calls check(f) with the clones that this machine can run.
template <class Base, class Avx2, class Avx512, class Check>
void each(Base base, Avx2 avx2, Avx512 avx512, Check check) {
  Base volatile opaque = base;  // a body is always_inline: its address must not be seen through
  const auto want = check(Base(opaque));
  if (instruction_set() >= 1) CHECK(same(check(avx2), want));
  if (instruction_set() >= 2) CHECK(same(check(avx512), want));
}

std::vector<double> normal_values(int n) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<std::size_t>(n));
  for (auto& v : x) v = normal(random);
  x[3] = 0;
  x[5] = -0.0;
  return x;
}

template <dtype T>
void decodes_alike() {
  std::mt19937_64 random(2);
  std::vector<numdiff::code_word<T>> codes(509);
  for (auto& c : codes) c = static_cast<numdiff::code_word<T>>(random());
  for (auto& c : codes) {
    if (numdiff::classify_as<T>(c) == numdiff::number_class::nan) c = 0;
  }
  each(decode_wide_body<T>, decode_wide_avx2<T>, decode_wide_avx512<T>, [&](auto f) {
    std::vector<double> values(codes.size());
    f(codes.data(), static_cast<int>(codes.size()), values.data());
    return values;
  });
  if constexpr (numdiff::format_of(T).is_float()) {
    each(count_magnitudes_body<T>, count_magnitudes_avx2<T>, count_magnitudes_avx512<T>, [&](auto f) {
      const magnitude_counts c = f(codes.data(), static_cast<int>(codes.size()));
      return std::vector<std::int64_t>{c.low, c.zero, c.high};
    });
  }
}

template <class Word>
void digests_alike() {
  std::mt19937_64 random(3);
  std::vector<Word> codes(251);
  for (auto& c : codes) c = static_cast<Word>(random());
  const auto& key = place_keys().key;
  each(add_block_body<Word>, add_block_avx2<Word>, add_block_avx512<Word>, [&](auto f) {
    std::vector<std::uint64_t> sum(2, 7);
    f(codes.data(), 251, key[0] + 5, key[1] + 5, key[2] + 5, sum.data());
    return sum;
  });
}

}  // namespace

TEST_CASE("clones agree") {
  const std::vector<double> x = normal_values(512);
  each(add_powers_body, add_powers_avx2, add_powers_avx512, [&](auto f) {
    std::vector<double> lanes(32, 0.1);
    f(x.data(), 512, lanes.data());
    return lanes;
  });
  each(lane_ranges_body, lane_ranges_avx2, lane_ranges_avx512, [&](auto f) {
    std::vector<double> lanes(24);
    f(x.data(), 512, lanes.data());
    return lanes;
  });
  each(fields_of_body, fields_of_avx2, fields_of_avx512, [&](auto f) {
    std::vector<std::uint16_t> fields(509);
    f(x.data(), 509, fields.data());
    return fields;
  });
  for (std::uint64_t bit : {0U, 1U, 17U, 56U, 63U}) {
    const std::uint64_t signs[6] = {
        0x840db14b61075156U, 0x0748560e0930a75dU, 0xe7947dd073abfcf0U, 1, ~0ULL, 0};
    each(add_lanes_body, add_lanes_avx2, add_lanes_avx512, [&](auto f) {
      std::vector<double> lanes(256, 0.3);
      f(x.data(), 253, signs, bit, lanes.data());
      return lanes;
    });
  }
  digests_alike<std::uint8_t>();
  digests_alike<std::uint16_t>();
  digests_alike<std::uint32_t>();
  digests_alike<std::uint64_t>();
  decodes_alike<dtype::f64>();
  decodes_alike<dtype::f32>();
  decodes_alike<dtype::tf32>();
  decodes_alike<dtype::bf16>();
  decodes_alike<dtype::f16>();
  decodes_alike<dtype::e5m6>();
  decodes_alike<dtype::i16>();
  decodes_alike<dtype::u16>();
  decodes_alike<dtype::i32>();
  decodes_alike<dtype::u32>();
  decodes_alike<dtype::i64>();
  decodes_alike<dtype::u64>();
}

#endif

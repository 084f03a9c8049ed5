// The digest: published vectors, what must change it, how evenly it spreads, and that shards add up.
#include <algorithm>
#include <set>

#include "capture/observe/tensors.hpp"

using namespace tensors;
using detail::digest;
using detail::digest_of;

namespace {

digest digest_words(const std::vector<std::uint64_t>& codes, std::uint64_t first = 0) {
  digest d;
  for (std::size_t i = 0; i < codes.size(); ++i) d = d + digest_of(first + i, codes[i]);
  return d;
}

digest observed(const detail::observe_input& in) {
  detail::observation out;
  REQUIRE(detail::observe_for_test(in, out));
  return {{out.row.digest0, out.row.digest1}};
}

digest observed(const std::vector<float>& values) {
  detail::observe_input in;
  in.tensor = dense(values.data(), dtype::f32, {static_cast<std::int64_t>(values.size())});
  return observed(in);
}

}  // namespace

TEST_CASE("published vectors") {
  CHECK(detail::digest_place_key(0, 0) == 0x2cb0f69f4abea221U);
  CHECK(detail::digest_place_key(1, 255) == 0x15f3c9e464a5cd15U);
  CHECK(detail::digest_place_key(2, 7) == 0xd004637a5078088fU);
  CHECK(detail::digest_block_key(0, 0) == 0xa1b22f12668bef13U);
  CHECK(detail::digest_block_key(1, 1000000) == 0x0b147c7427709467U);
  CHECK(digest_of(0, 1) == digest{{0xa4c40407b36dd773U, 0xe2d668b063410000U}});
  CHECK(digest_of(255, 0xffffffffU) == digest{{0x2457a83a4934d683U, 0x5f3cb15efd994cd1U}});
  CHECK(digest_of(256, 0x3f800000U) == digest{{0xdf4cfe5ebb800000U, 0x4fcd86ab68b82c80U}});
  CHECK(digest_of(123456789, 0xbff0000000000000U) == digest{{0x2a2ce7322a900000U, 0x35445d279d0ff330U}});
  std::vector<float> ramp(1000);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i);
  CHECK(observed(ramp) == digest{{0x49c8e099bc278000U, 0xc0f1bedb4d986310U}});
}

TEST_CASE("any change of one element shows in both sums") {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::uint64_t g = random() >> (random() % 60);
    const std::uint64_t bits = random();
    for (int bit = 0; bit < 64; ++bit) {
      const digest a = digest_of(g, bits);
      const digest b = digest_of(g, bits ^ (std::uint64_t{1} << bit));
      REQUIRE(a.sum[0] != b.sum[0]);
      REQUIRE(a.sum[1] != b.sum[1]);
    }
  }
}

TEST_CASE("structured changes show") {
  std::vector<float> x(256 * 64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 256) - 100;
  const digest original = observed(x);
  auto changed = [&](auto&& change) {
    std::vector<float> y = x;
    change(y);
    const digest d = observed(y);
    CHECK(d.sum[0] != original.sum[0]);
    CHECK(d.sum[1] != original.sum[1]);
  };
  changed([](auto& y) { std::swap(y[0], y[1]); });
  changed([](auto& y) { std::swap(y[3], y[256 * 7 + 4]); });
  changed([](auto& y) { std::rotate(y.begin(), y.begin() + 1, y.end()); });
  changed([](auto& y) { std::rotate(y.begin(), y.begin() + 17 * 256 + 5, y.end()); });
  changed([](auto& y) { std::reverse(y.begin(), y.end()); });
  changed([](auto& y) { y[100] = -0.0F; });  // was +0
  changed([](auto& y) {
    for (auto& v : y) v = -v;
  });
  changed([](auto& y) { y[5] = -y[5], y[6] = -y[6]; });
  changed([](auto& y) {
    for (std::size_t i = 0; i < y.size(); i += 2) y[i] = -y[i];
  });
  changed([](auto& y) { y[1] = 0, y[257] = 0, y[1] += 1, y[257] -= 1; });
  // A parallelogram: +d and -d on two columns of two rows.
  changed([](auto& y) { y[3] += 1, y[9] -= 1, y[256 + 3] -= 1, y[256 + 9] += 1; });
  // Transposed, as a 128 x 128 matrix.
  changed([](auto& y) {
    const std::vector<float> z = y;
    for (std::size_t i = 0; i < 128; ++i) {
      for (std::size_t j = 0; j < 128; ++j) y[i * 128 + j] = z[j * 128 + i];
    }
  });
}

TEST_CASE("sign flips of pairs of doubles do not cancel") {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  const std::uint64_t sign = std::uint64_t{1} << 63;
  for (std::uint64_t a = 0; a < 600; ++a) {
    for (std::uint64_t b = a + 1; b < 600; ++b) {
      const digest d = digest_of(a, sign) + digest_of(b, sign);
      REQUIRE(d.sum[0] != 0);
      REQUIRE(d.sum[1] != 0);
      seen.insert({d.sum[0], d.sum[1]});
    }
  }
  CHECK(seen.size() == 600 * 599 / 2);
}

TEST_CASE("digests of similar tensors collide no more than random numbers") {
  // Tensors of 80 codes that differ in three bits (in random bits when a code has one). 2^17 digests folded
  // to 40 bits have 0.0078 collisions expected; two or more have probability 3e-5.
  for (unsigned bits : {1U, 8U, 16U, 32U, 64U}) {
    CAPTURE(bits);
    std::mt19937_64 random(bits);
    std::set<std::vector<std::uint64_t>> tensors;
    std::vector<std::uint64_t> folded[2];
    while (tensors.size() < (1U << 17)) {
      std::vector<std::uint64_t> x(80);
      for (auto& code : x) code = bits == 1 ? random() & 1 : 0;
      for (int change = 0; change < 3; ++change) x[random() % 80] ^= std::uint64_t{1} << (random() % bits);
      if (!tensors.insert(x).second) continue;
      const digest d = digest_words(x, 200);
      for (int s = 0; s < 2; ++s) {
        folded[s].push_back((d.sum[s] ^ (d.sum[s] >> 40)) & ((std::uint64_t{1} << 40) - 1));
      }
    }
    for (auto& f : folded) {
      std::sort(f.begin(), f.end());
      CHECK(f.end() - std::unique(f.begin(), f.end()) < 2);
    }
  }
}

TEST_CASE("digests of shards add up") {
  const auto codes = random_codes(dtype::f32, 96 * 320, 3);
  detail::observe_input whole;
  whole.tensor = dense(codes.data(), dtype::f32, {96, 320});
  const digest want = observed(whole);
  const std::int64_t row_cuts[][4] = {{0, 96, 96, 96}, {0, 24, 48, 96}, {0, 1, 95, 96}};
  const std::int64_t column_cuts[][4] = {{0, 320, 320, 320}, {0, 80, 160, 320}, {0, 7, 256, 320}};
  for (const auto& rows : row_cuts) {
    for (const auto& columns : column_cuts) {
      digest sum;
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
          detail::observe_input part = whole;
          part.tensor.data = codes.data() + 4 * (rows[i] * 320 + columns[j]);
          part.tensor.extent[0] = rows[i + 1] - rows[i];
          part.tensor.extent[1] = columns[j + 1] - columns[j];
          part.map.is = detail::global_map::kind::box;
          part.map.begin[0] = rows[i];
          part.map.begin[1] = columns[j];
          part.map.global_extent[0] = 96;
          part.map.global_extent[1] = 320;
          sum = sum + observed(part);
        }
      }
      CHECK(sum == want);
    }
  }
  digest flat;
  for (std::int64_t begin = 0; begin < 96 * 320; begin += 1000) {
    const std::int64_t length = std::min<std::int64_t>(1000, 96 * 320 - begin);
    const detail::flat_segment segment{begin, 0, length};
    detail::observe_input part;
    part.tensor = dense(codes.data() + 4 * begin, dtype::f32, {length});
    part.map.is = detail::global_map::kind::flat;
    part.map.segments = &segment;
    part.map.segment_count = 1;
    flat = flat + observed(part);
  }
  CHECK(flat == want);
  digest by_ids;
  std::vector<std::int64_t> ids[2];
  for (std::int64_t i = 0; i < 96; ++i) ids[i % 3 == 0].push_back(i);
  for (const auto& list : ids) {
    std::vector<unsigned char> rows;
    for (std::int64_t id : list)
      rows.insert(rows.end(), codes.begin() + 4 * 320 * id, codes.begin() + 4 * 320 * (id + 1));
    detail::observe_input part;
    part.tensor = dense(rows.data(), dtype::f32, {static_cast<std::int64_t>(list.size()), 320});
    part.map.is = detail::global_map::kind::box;
    part.map.global_extent[0] = 96;
    part.map.ids_dimension = 0;
    part.map.ids = list.data();
    by_ids = by_ids + observed(part);
  }
  CHECK(by_ids == want);
}

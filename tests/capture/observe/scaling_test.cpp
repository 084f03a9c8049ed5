// Scales of every granularity, direction and type, against the oracle.
#include "capture/observe/tensors.hpp"

using namespace tensors;
using numdiff::granularity;
using numdiff::scale_direction;

namespace {

struct scaled {
  detail::observe_input in;
  std::vector<unsigned char> codes, scales, zeros;
};

// A tensor [5, 37, 70] with plausible scales, some of them 0, NaN or infinite where the type has those.
scaled make(dtype type, granularity g, dtype scale_type, bool zero_points, unsigned seed) {
  scaled s;
  s.codes = random_codes(type, 5 * 37 * 70, seed);
  s.in.tensor = dense(s.codes.data(), type, {5, 37, 70});
  const std::size_t size = numdiff::bytes_of(scale_type);
  const std::size_t groups = 5 * 37 * 70;  // enough for any granularity
  std::mt19937_64 random(seed);
  s.scales.resize(groups * size);
  for (std::size_t i = 0; i < groups; ++i) {
    const double value =
        std::ldexp(1 + static_cast<double>(random() % 64) / 64, static_cast<int>(random() % 8) - 5);
    std::uint64_t code = numdiff::encode(scale_type, value);
    if (random() % 40 == 0) code = numdiff::format_of(scale_type).infinity_code();
    if (random() % 40 == 0) code = 0;
    std::memcpy(s.scales.data() + i * size, &code, size);
  }
  s.zeros.resize(groups);
  for (auto& z : s.zeros) z = static_cast<unsigned char>(random() % 16);
  s.in.scaling.granularity = g;
  s.in.scaling.type = scale_type;
  s.in.scaling.scales = s.scales.data();
  s.in.scaling.block[0] = 16;
  s.in.scaling.block[1] = 32;
  if (g == granularity::nvfp4) s.in.scaling.global = 0.0123;
  if (zero_points) {
    s.in.scaling.zero_points = s.zeros.data();
    s.in.scaling.zero_point_type = dtype::i8;
  }
  return s;
}

void point_into_self(scaled& s) {
  s.in.tensor.data = s.codes.data();
  s.in.scaling.scales = s.scales.data();
  if (s.in.scaling.zero_points) s.in.scaling.zero_points = s.zeros.data();
}

}  // namespace

TEST_CASE("every granularity, direction and axis") {
  unsigned seed = 0;
  for (dtype type : {dtype::f8e4m3fn, dtype::f8e5m2, dtype::f4e2m1fn, dtype::i8, dtype::u4, dtype::mxint8,
                     dtype::bf16, dtype::f32, dtype::i32, dtype::f64}) {
    for (granularity g : {granularity::tensor, granularity::row, granularity::column, granularity::block,
                          granularity::mx, granularity::nvfp4}) {
      for (dtype scale_type : {dtype::f32, dtype::f8e8m0fnu, dtype::ue4m3, dtype::f64, dtype::bf16}) {
        if (seed++ % 3 != 0) continue;  // a third of all combinations
        CAPTURE(numdiff::name_of(type));
        CAPTURE(static_cast<int>(g));
        CAPTURE(numdiff::name_of(scale_type));
        scaled s = make(type, g, scale_type, seed % 2 == 0, seed);
        point_into_self(s);
        s.in.scaling.axis = seed % 4 == 1 ? 1 : -1;
        if (seed % 5 == 0) s.in.scaling.direction = scale_direction::encode;
        check(s.in);
      }
    }
  }
}

TEST_CASE("scales with hidden elements, strides and parts of a global tensor") {
  scaled s = make(dtype::f8e4m3fn, granularity::block, dtype::f32, false, 3);
  point_into_self(s);
  std::vector<unsigned char> visible(5 * 37 * 70);
  for (std::size_t i = 0; i < visible.size(); ++i) visible[i] = i % 5 != 0;
  s.in.hidden.visible = visible.data();
  check(s.in);
  std::swap(s.in.tensor.extent[1], s.in.tensor.extent[2]);
  std::swap(s.in.tensor.stride[1], s.in.tensor.stride[2]);
  s.in.map.is = detail::global_map::kind::box;
  s.in.map.begin[1] = 100;
  s.in.map.global_extent[1] = 1000;
  check(s.in);
}

TEST_CASE("statistics and codes of scales") {
  std::vector<float> codes(64 * 64, 1.0F);
  std::vector<float> scales(16);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<float>(i);
  scales[3] = std::numeric_limits<float>::quiet_NaN();
  scales[4] = std::numeric_limits<float>::infinity();
  detail::observe_input in;
  in.tensor = dense(codes.data(), dtype::f32, {64, 64});
  in.level = numdiff::level::tensors;
  in.scaling.granularity = granularity::block;
  in.scaling.block[0] = in.scaling.block[1] = 16;
  in.scaling.scales = scales.data();
  detail::observation out;
  REQUIRE(detail::observe_for_test(in, out));
  CHECK(out.scales.count == 16);
  CHECK(out.scales.zero == 1);
  CHECK(out.scales.nan == 1);
  CHECK(out.scales.infinite == 1);
  CHECK(out.scales.minimum == 0);
  CHECK(out.scales.maximum == 15);
  CHECK(out.row.scale_count == 16);
  CHECK(out.row.zero_point_count == 0);
  REQUIRE(out.scale_values.size() == sizeof(float) * 16);
  CHECK(std::memcmp(out.scale_values.data(), scales.data(), sizeof(float) * 16) == 0);
  CHECK(out.zero_points.empty());
  detail::digest want;
  for (std::uint64_t g = 0; g < 16; ++g) {
    want = want + detail::digest_of(g, numdiff::detail::bits_of(scales[g]));
  }
  CHECK(out.row.scale_digest0 == want.sum[0]);
  CHECK(out.row.scale_digest1 == want.sum[1]);
  CHECK(decoded(out.block_histogram) == std::map<int, std::uint64_t>{{0, 13 * 256}});
  // NaN and infinite scales make their elements non-finite; their codes stay normal.
  CHECK(out.row.nan == 0);
  CHECK(out.row.first_nonfinite == 48);
}

TEST_CASE("digests of scales add up over shards of whole groups") {
  scaled s = make(dtype::f8e4m3fn, granularity::block, dtype::f32, true, 9);
  s.in.tensor = dense(s.codes.data(), dtype::f8e4m3fn, {64, 128});
  point_into_self(s);
  detail::observation whole;
  REQUIRE(detail::observe_for_test(s.in, whole));  // a grid of 4 x 4 groups
  detail::digest codes, scales, zeros;
  for (std::int64_t column = 0; column < 128; column += 64) {
    std::vector<float> part_scales;
    std::vector<unsigned char> part_zeros;
    for (std::int64_t i = 0; i < 4; ++i) {
      for (std::int64_t j = column / 32; j < column / 32 + 2; ++j) {
        part_scales.push_back(reinterpret_cast<const float*>(s.scales.data())[i * 4 + j]);
        part_zeros.push_back(s.zeros[static_cast<std::size_t>(i * 4 + j)]);
      }
    }
    detail::observe_input part = s.in;
    part.tensor.data = s.codes.data() + column;
    part.tensor.extent[1] = 64;
    part.scaling.scales = part_scales.data();
    part.scaling.zero_points = part_zeros.data();
    part.map.is = detail::global_map::kind::box;
    part.map.begin[1] = column;
    part.map.global_extent[1] = 128;
    detail::observation out;
    REQUIRE(detail::observe_for_test(part, out));
    codes = codes + detail::digest{{out.row.digest0, out.row.digest1}};
    scales = scales + detail::digest{{out.row.scale_digest0, out.row.scale_digest1}};
    zeros = zeros + detail::digest{{out.row.zero_point_digest0, out.row.zero_point_digest1}};
  }
  CHECK(codes == detail::digest{{whole.row.digest0, whole.row.digest1}});
  CHECK(scales == detail::digest{{whole.row.scale_digest0, whole.row.scale_digest1}});
  CHECK(zeros == detail::digest{{whole.row.zero_point_digest0, whole.row.zero_point_digest1}});
}

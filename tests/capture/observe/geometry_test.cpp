// Every dtype through every shape of memory and every placement, against the oracle.
#include "capture/observe/tensors.hpp"

using namespace tensors;
using numdiff::level;

namespace {

detail::observe_input of(const detail::strided_codes& t) {
  detail::observe_input in;
  in.tensor = t;
  in.level = level::tensors;
  return in;
}

}  // namespace

TEST_CASE("dense tensors of every dtype") {
  for (dtype t : all_dtypes()) {
    CAPTURE(numdiff::name_of(t));
    const auto codes = random_codes(t, 3 * 7 * 111, 1);
    check(of(dense(codes.data(), t, {3, 7, 111})));
    const auto plain = random_codes(t, 1800, 2, false);
    check(of(dense(plain.data(), t, {1800})));
    check(of(dense(plain.data() + 1, t, {1799 / 2})));  // misaligned
  }
}

TEST_CASE("strided, transposed, expanded, reversed") {
  for (dtype t : all_dtypes()) {
    CAPTURE(numdiff::name_of(t));
    const auto codes = random_codes(t, 64 * 40, 3);
    detail::strided_codes v = dense(codes.data(), t, {64, 40});
    std::swap(v.extent[0], v.extent[1]);
    std::swap(v.stride[0], v.stride[1]);
    check(of(v));  // transposed
    v = dense(codes.data(), t, {64, 40});
    v.extent[1] = 13;
    v.stride[1] = 3;
    check(of(v));  // every third column
    v = dense(codes.data(), t, {64, 40});
    v.rank = 3;
    v.extent[2] = 40;
    v.extent[1] = 5;
    v.extent[0] = 4;
    v.stride[2] = 1;
    v.stride[1] = 0;
    v.stride[0] = 40;
    check(of(v));  // expanded in the middle
    v = dense(codes.data(), t, {64, 40});
    const std::size_t size = numdiff::bytes_of(t);
    v.data = codes.data() + (64 * 40 - 1) * size;
    v.stride[0] = -40;
    v.stride[1] = -1;
    check(of(v));  // reversed
  }
}

TEST_CASE("no dimensions, no elements") {
  for (dtype t : all_dtypes()) {
    CAPTURE(numdiff::name_of(t));
    const auto codes = random_codes(t, 4, 4);
    check(of(dense(codes.data(), t, {})));
    check(of(dense(nullptr, t, {0})));
    check(of(dense(nullptr, t, {3, 0, 5})));
    check(of(dense(codes.data(), t, {1, 1, 1, 1, 1, 1, 2, 2})));
  }
}

TEST_CASE("packed 4-bit codes") {
  std::vector<unsigned char> bytes(400);
  std::mt19937 random(5);
  for (auto& b : bytes) b = static_cast<unsigned char>(random());
  for (dtype t : {dtype::i4, dtype::u4, dtype::f4e2m1fn}) {
    CAPTURE(numdiff::name_of(t));
    detail::strided_codes v = dense(bytes.data(), t, {20, 40});
    v.packed = true;
    check(of(v));
    std::swap(v.extent[0], v.extent[1]);
    std::swap(v.stride[0], v.stride[1]);
    check(of(v));
    v = dense(bytes.data() + 399, t, {799});
    v.packed = true;
    v.stride[0] = -1;
    check(of(v));
  }
}

TEST_CASE("placements") {
  for (dtype t : {dtype::f32, dtype::bf16, dtype::f64, dtype::f8e4m3fn, dtype::i64, dtype::c64}) {
    CAPTURE(numdiff::name_of(t));
    const auto codes = random_codes(t, 6 * 10 * 70, 6);
    detail::observe_input in = of(dense(codes.data(), t, {6, 10, 70}));
    in.map.is = detail::global_map::kind::box;
    const std::int64_t begin[3] = {2, 5, 300};
    const std::int64_t extent[3] = {9, 15, 1000};
    std::copy(begin, begin + 3, in.map.begin);
    std::copy(extent, extent + 3, in.map.global_extent);
    check(in);
    in.map.begin[2] = 0;
    in.map.global_extent[2] = 0;
    check(in);  // whole rows
    const std::int64_t ids[10] = {3, 11, -1, 0, 7, 7, 2, 14, -5, 1};
    in.map.ids = ids;
    in.map.ids_dimension = 1;
    check(in);
    in.map.ids_dimension = 0;
    check(in);
    const std::vector<std::int64_t> long_ids = [] {
      std::vector<std::int64_t> v(70);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::int64_t>(i * 37 % 71) - 1;
      return v;
    }();
    in.map.ids = long_ids.data();
    in.map.ids_dimension = 2;
    check(in);
    in = of(dense(codes.data(), t, {6, 10, 70}));
    in.map.is = detail::global_map::kind::flat;
    const detail::flat_segment segments[3] = {{5000, 1200, 3000}, {77, 0, 500}, {100000, 700, 499}};
    in.map.segments = segments;
    in.map.segment_count = 3;
    check(in);
    in.map.segment_count = 0;
    check(in);  // nothing is covered
  }
}

TEST_CASE("hidden elements") {
  for (dtype t : {dtype::f32, dtype::f16, dtype::f8e5m2, dtype::i32, dtype::boolean, dtype::c128}) {
    CAPTURE(numdiff::name_of(t));
    const auto codes = random_codes(t, 9 * 31 * 5, 7);
    detail::observe_input in = of(dense(codes.data(), t, {9, 31, 5}));
    std::vector<unsigned char> visible(9 * 31 * 5);
    std::mt19937 random(8);
    for (auto& b : visible) b = random() % 3 != 0;
    in.hidden.visible = visible.data();
    check(in);
    in.hidden.visible = nullptr;
    const std::int64_t lengths[9] = {0, 31, 5, 17, 1, 30, 31, 2, 3};
    in.hidden.lengths = lengths;
    check(in);
    in.hidden.lengths = nullptr;
    in.hidden.has_fill = true;
    for (double fill : {0.0, numdiff::format_of(oracle::part_type(t)).max_finite(), 1.0,
                        -std::numeric_limits<double>::infinity()}) {
      in.hidden.fill = fill;
      check(in);
    }
  }
}

TEST_CASE("results do not depend on strides") {
  const auto codes = random_codes(dtype::f32, 300 * 500, 9, false);
  std::vector<float> turned(300 * 500);
  const auto* values = reinterpret_cast<const float*>(codes.data());
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t j = 0; j < 500; ++j) turned[j * 300 + i] = values[i * 500 + j];
  }
  detail::observation a, b;
  detail::observe_input in = of(dense(codes.data(), dtype::f32, {300, 500}));
  REQUIRE(detail::observe_for_test(in, a));
  in.tensor.data = turned.data();
  in.tensor.stride[0] = 1;
  in.tensor.stride[1] = 300;
  REQUIRE(detail::observe_for_test(in, b));
  CHECK(std::memcmp(&a.row, &b.row, sizeof a.row) == 0);
  CHECK(std::memcmp(a.sketch, b.sketch, sizeof a.sketch) == 0);
  CHECK(a.histogram == b.histogram);
}

TEST_CASE("levels") {
  const auto codes = random_codes(dtype::f32, 257, 10);
  for (level l : {level::stats, level::sketch, level::tensors}) {
    detail::observe_input in = of(dense(codes.data(), dtype::f32, {257}));
    in.level = l;
    check(in);
    in.tensor.extent[0] = 256;
    check(in);
  }
}

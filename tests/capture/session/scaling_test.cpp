#include "numdiff/detail/runtime/describe_scaling.hpp"

#include <doctest/doctest.h>

#include "numdiff/view.hpp"

using namespace numdiff;
using namespace numdiff::detail;

namespace {

const std::uint8_t codes[16] = {};
const float scales[16] = {};

view tensor(const extents& shape) {
  return {codes, dtype::f8e4m3fn, shape};
}

std::int64_t count(const view& v) {
  view_scales grid;
  return find_grid(v.raw(), grid) ? grid.count : -1;
}

}  // namespace

TEST_CASE("texts of scalings") {
  CHECK(scaling_json(tensor({4, 4}).raw()).empty());
  CHECK(scaling_json(tensor({4, 4}).scaled(scale_per_tensor(scales).encode()).raw()) ==
        R"({"granularity":"tensor","direction":"encode","layout":"linear"})");
  CHECK(scaling_json(tensor({4, 4}).scaled(scale_block(1, 128, scales).rounded(rounding::up)).raw()) ==
        R"({"granularity":"block","block":[1,128],"direction":"decode","layout":"linear","rounding":"up"})");
  CHECK(scaling_json(tensor({4, 4}).scaled(scale_mx(codes).axis(0)).raw()) ==
        R"({"granularity":"mx","axis":0,"direction":"decode","layout":"linear"})");
  CHECK(
      scaling_json(tensor({4, 4}).scaled(scale_nvfp4(codes, 0.0123).transform("hadamard16")).raw()) ==
      R"({"granularity":"nvfp4","axis":1,"direction":"decode","layout":"linear","global":0.0123,"transform":"hadamard16"})");
}

TEST_CASE("how many scales a view has") {
  CHECK(count(tensor({4, 4}).scaled(scale_per_tensor(scales))) == 1);
  CHECK(count(tensor({}).scaled(scale_per_tensor(scales))) == 1);
  CHECK(count(tensor({3, 5}).scaled(scale_per_row(scales))) == 3);
  CHECK(count(tensor({3, 5}).scaled(scale_per_column(scales))) == 5);
  CHECK(count(tensor({2, 130, 129}).scaled(scale_block(128, 128, scales))) == 2 * 2 * 2);
  CHECK(count(tensor({3, 65}).scaled(scale_mx(codes))) == 3 * 3);
  CHECK(count(tensor({65, 3}).scaled(scale_mx(codes).axis(0))) == 3 * 3);
  CHECK(count(tensor({3, 17}).scaled(scale_nvfp4(codes, 1))) == 3 * 2);
  CHECK(count(tensor({0, 17}).scaled(scale_nvfp4(codes, 1))) == 0);
  CHECK(count(tensor({4}).scaled(scale_block(1, 2, scales))) == -1);
  CHECK(count(tensor({4, 4}).scaled(scale_block(0, 2, scales))) == -1);
  CHECK(count(tensor({4, 4}).scaled(scale_mx(codes).axis(2))) == -1);
}

TEST_CASE("swizzled scales come back in linear order without their padding") {
  constexpr std::int64_t rows = 130, columns = 5;
  const view v = view(codes, dtype::f4e2m1fn, {rows, columns * 16})
                     .scaled(scale_nvfp4(codes, 1).layout(scale_layout::swizzled));
  view_scales grid;
  REQUIRE(find_grid(v.raw(), grid));
  REQUIRE(scale_bytes(v.raw(), grid) == 256 * 8);
  std::vector<unsigned char> tiled(256 * 8, 0xee), linear;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t tile = (r / 128) * 2 + c / 4;
      tiled[static_cast<std::size_t>(tile * 512 + (r % 32) * 16 + (r % 128) / 32 * 4 + c % 4)] =
          static_cast<unsigned char>(r * 7 + c);
    }
  }
  unswizzle(tiled.data(), v.raw(), grid, linear);
  REQUIRE(linear.size() == static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    CHECK(linear[static_cast<std::size_t>(i)] == static_cast<unsigned char>(i / columns * 7 + i % columns));
  }
}

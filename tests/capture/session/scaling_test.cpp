#include "numdiff/detail/runtime/describe_scaling.hpp"

#include <doctest/doctest.h>

#include <vector>

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

TEST_CASE("a view that is transposed with its scales keeps each element's scale") {
  const auto turned = [](const view& v) {
    view_scales grid;
    REQUIRE(find_grid(v.raw(), grid));
    scale_groups found;
    found.scales = v.raw().scaling.scales;
    found.type = static_cast<dtype>(v.raw().scaling.scale_dtype);
    found.zero_points = v.raw().scaling.zero_points;
    found.zero_point_type = static_cast<dtype>(v.raw().scaling.zero_point_dtype);
    linear_copies copies;
    REQUIRE(in_linear_order(v.raw(), grid, copies, found));
    std::vector<std::vector<int>> rows;
    for (std::int64_t i = 0; i < grid.count; ++i) {
      if (i % grid.blocks[v.raw().rank - 1] == 0) rows.emplace_back();
      rows.back().push_back(static_cast<int>(static_cast<const float*>(found.scales)[i]));
      if (found.zero_points != nullptr)
        CHECK(static_cast<const std::int32_t*>(found.zero_points)[i] == 100 + rows.back().back());
    }
    return rows;
  };
  using blocks = std::vector<std::vector<int>>;
  float numbers[6];
  std::int32_t zeros[6];
  for (int i = 0; i < 6; ++i) numbers[i] = static_cast<float>(i), zeros[i] = 100 + i;

  const view whole = tensor({4, 6}).scaled(scale_block(2, 2, numbers).zero_point(zeros, dtype::i32));
  CHECK(turned(whole) == blocks{{0, 1, 2}, {3, 4, 5}});
  CHECK(turned(whole.transposed()) == blocks{{0, 3}, {1, 4}, {2, 5}});
  CHECK(turned(whole.transposed().transposed()) == blocks{{0, 1, 2}, {3, 4, 5}});
  CHECK(scaling_json(tensor({4, 6}).scaled(scale_block(1, 128, numbers)).transposed().raw()) ==
        R"({"granularity":"block","block":[128,1],"direction":"decode","layout":"linear"})");

  // Matrices of a batch are turned one by one.
  CHECK(turned(tensor({3, 2, 2}).scaled(scale_block(2, 1, numbers)).transposed()) ==
        blocks{{0}, {1}, {2}, {3}, {4}, {5}});
  CHECK(turned(tensor({1, 2, 96}).scaled(scale_mx(numbers).type(dtype::f32)).transposed()) ==
        blocks{{0, 3}, {1, 4}, {2, 5}});
  CHECK(tensor({2, 96}).scaled(scale_mx(codes)).transposed().raw().scaling.axis == 0);

  CHECK(tensor({3, 2}).scaled(scale_per_row(scales)).transposed().raw().scaling.granularity ==
        static_cast<std::uint16_t>(granularity::column));
  CHECK(tensor({3, 2}).scaled(scale_per_column(scales)).transposed().raw().scaling.granularity ==
        static_cast<std::uint16_t>(granularity::row));
  CHECK((tensor({3, 2, 5}).scaled(scale_per_column(scales)).transposed().raw().flags &
         numdiff_view_invalid) != 0);

  // The scales of what was transposed before lie as the view does.
  CHECK(turned(tensor({6, 4}).transposed().scaled(scale_block(2, 2, numbers))) ==
        blocks{{0, 1, 2}, {3, 4, 5}});

  // Tiles are those of the memory.
  constexpr std::int64_t rows = 3, columns = 2;
  std::vector<unsigned char> tiled(128 * 4);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      tiled[static_cast<std::size_t>(r * 16 + c)] = static_cast<unsigned char>(10 * r + c);
  const view swizzled = view(codes, dtype::f4e2m1fn, {rows, columns * 32})
                            .scaled(scale_mx(tiled.data()).layout(scale_layout::swizzled))
                            .transposed();
  view_scales grid;
  REQUIRE(find_grid(swizzled.raw(), grid));
  REQUIRE(scale_bytes(swizzled.raw(), grid) == 128 * 4);
  scale_groups found;
  found.scales = tiled.data();
  found.type = dtype::f8e8m0fnu;
  linear_copies copies;
  REQUIRE(in_linear_order(swizzled.raw(), grid, copies, found));
  CHECK(copies.scales == std::vector<unsigned char>{0, 10, 20, 1, 11, 21});
}

TEST_CASE("a view that is transposed with its placement keeps each element's place") {
  const segment held[2] = {{0, 0, 2}, {6, 2, 2}};
  const view part = tensor({4, 6}).shard("tp", 0).box(0, 8, 16).transposed();
  CHECK(part.raw().mesh[0].dimension == 1);
  CHECK(part.raw().box_begin[1] == 8);
  CHECK(part.raw().global_extent[1] == 16);
  CHECK(part.raw().box_begin[0] == 0);
  CHECK(tensor({4, 6}).ranges(0, held, 2, 8).transposed().raw().ids_dimension == 1);
  CHECK(tensor({4, 6}).replicated("dp").transposed().raw().mesh[0].dimension == -1);
  CHECK(tensor({2, 4, 6}).shard("ep", 0).transposed().raw().mesh[0].dimension == 0);
}

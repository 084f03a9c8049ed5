#include "numdiff/detail/runtime/describe_placement.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "numdiff/view.hpp"

using namespace numdiff;
using namespace numdiff::detail;

namespace {

struct described {
  bool possible;
  std::string json;
  global_map map;
};

described describe(const view& v) {
  static device_mesh mesh;
  mesh.set("dp", 2, 1);
  mesh.set("tp", 4, 2);
  described d{};
  d.possible = describe_placement(v.raw(), mesh, d.map, d.json);
  return d;
}

const float data[64] = {};

}  // namespace

TEST_CASE("a view without placement is rank-local") {
  const auto d = describe(view(data, {4, 8}));
  CHECK((d.possible && d.json.empty() && d.map.is == global_map::kind::local));
}

TEST_CASE("an even shard is a box") {
  const auto d = describe(view(data, {4, 8}).shard("tp", 1).replicated("dp"));
  CHECK(
      d.json ==
      R"({"mesh":[{"axis":"tp","size":4,"at":2,"spread":"sharded","dim":1},{"axis":"dp","size":2,"at":1,"spread":"replicated"}],"global":[4,32],"box":[[0,4],[16,24]]})");
  CHECK(d.map.is == global_map::kind::box);
  CHECK((d.map.begin[1] == 16 && d.map.global_extent[1] == 32));
}

TEST_CASE("the first of two axes over one dimension is the outer one") {
  const auto d = describe(view(data, {4}).shard("dp", 0).shard("tp", 0));
  CHECK(d.map.global_extent[0] == 32);
  CHECK(d.map.begin[0] == (1 * 4 + 2) * 4);
}

TEST_CASE("uneven shards are told as boxes") {
  const auto d = describe(view(data, {3}).shard("tp", 0).box(0, 7, 10));
  CHECK(
      d.json ==
      R"({"mesh":[{"axis":"tp","size":4,"at":2,"spread":"sharded","dim":0}],"global":[10],"box":[[7,10]]})");
}

TEST_CASE("partial and replicated tensors are whole") {
  const auto d = describe(view(data, {4}).partial("tp", reduction::average));
  CHECK(d.json ==
        R"({"mesh":[{"axis":"tp","size":4,"at":2,"spread":"partial_average"}],"global":[4],"box":[[0,4]]})");
  CHECK(d.map.is == global_map::kind::local);
}

TEST_CASE("an axis nobody declared has one rank") {
  const auto d = describe(view(data, {4}).shard("pp", 0));
  CHECK(d.json ==
        R"({"mesh":[{"axis":"pp","size":1,"at":0,"spread":"sharded","dim":0}],"global":[4],"box":[[0,4]]})");
}

TEST_CASE("flat pieces, few and many") {
  const view pieces = view(data, {5}).shard("dp", 0).flat({{10, 0, 3}, {20, 3, 2}}, {4, 8});
  const auto d = describe(pieces);
  CHECK(
      d.json ==
      R"({"mesh":[{"axis":"dp","size":2,"at":1,"spread":"sharded","dim":0}],"global":[4,8],"flat":[[10,0,3],[20,3,2]]})");
  CHECK((d.map.is == global_map::kind::flat && d.map.segment_count == 2 && d.map.segments[1].length == 2));
  const std::vector<segment> many(20, segment{0, 0, 1});
  CHECK(describe(view(data, {20}).flat(many.data(), many.size())).map.segment_count == 20);
  CHECK((view(data, {9})
             .flat({{0, 0, 1},
                    {1, 1, 1},
                    {2, 2, 1},
                    {3, 3, 1},
                    {4, 4, 1},
                    {5, 5, 1},
                    {6, 6, 1},
                    {7, 7, 1},
                    {8, 8, 1}})
             .raw()
             .flags &
         numdiff_view_invalid) != 0);
}

TEST_CASE("ids along a dimension") {
  const std::int64_t ids[3] = {5, 1, 9};
  const auto d = describe(view(data, {3, 2}).ids(0, ids, 3, 12));
  CHECK(d.json == R"({"mesh":[],"global":[12,2],"box":[[0,12],[0,2]],"ids":0})");
  CHECK((d.map.is == global_map::kind::box && d.map.ids_dimension == 0 && d.map.ids == ids));
  CHECK_FALSE(describe(view(data, {3, 2}).ids(0, ids, 2, 12)).possible);
}

TEST_CASE("boxes outside of the tensor are refused") {
  CHECK_FALSE(describe(view(data, {4}).box(0, 2, 5)).possible);
  CHECK_FALSE(describe(view(data, {4}).box(0, -1, 5)).possible);
  CHECK_FALSE(describe(view(data, dtype::f32, {INT64_MAX / 2}).shard("tp", 0)).possible);
}

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
  static std::vector<std::int64_t> indices;  // as the map says, until the next call
  described d{};
  d.possible = describe_placement(v.raw(), mesh, d.map, d.json, indices);
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

TEST_CASE("ranges along a dimension: a zig-zag, fused matrices, a padded vocabulary") {
  const auto cp = describe(view(data, {4, 8}).shard("tp", 0, zigzag(16, 4, 2)));
  CHECK(
      cp.json ==
      R"({"mesh":[{"axis":"tp","size":4,"at":2,"spread":"sharded","dim":0}],"global":[16,8],"box":[[0,16],[0,8]],"ranges":[[[4,6],[10,12]],[]]})");
  REQUIRE((cp.map.is == global_map::kind::box && cp.map.ids_dimension == 0));
  CHECK((cp.map.ids[0] == 4 && cp.map.ids[1] == 5 && cp.map.ids[2] == 10 && cp.map.ids[3] == 11));

  const auto qkv = describe(view(data, {2, 4}).shard("tp", 1, fused({8, 4, 4}, 4, 2)));
  CHECK(qkv.json.find(R"("global":[2,16],"box":[[0,2],[0,16]],"ranges":[[],[[4,6],[10,11],[14,15]]]})") !=
        std::string::npos);

  const auto words = describe(view(data, {4, 2}).shard("tp", 0, padded(11, 16, 4, 2)));
  CHECK(words.json.find(R"("ranges":[[[8,11]],[]]})") != std::string::npos);
  CHECK(words.map.ids[3] == -1);
  const auto none = describe(view(data, {4, 2}).shard("tp", 0, padded(8, 16, 4, 2)));
  CHECK(none.json.find(R"("ranges":[[[0,0]],[]]})") != std::string::npos);
  CHECK(none.map.ids[0] == -1);
}

TEST_CASE("one stretch is a box, uneven and empty ones too") {
  const auto d = describe(view(data, {2}).shard("tp", 0, even(10, 4, 2)));
  CHECK(d.json ==
        R"({"mesh":[{"axis":"tp","size":4,"at":2,"spread":"sharded","dim":0}],"global":[10],"box":[[6,8]]})");
  const auto empty = describe(view(data, {0, 3}).shard("tp", 0, even(2, 4, 2)));
  CHECK(empty.json.find(R"("global":[2,3],"box":[[0,0],[0,3]]})") != std::string::npos);
}

TEST_CASE("ranges that leave the view or the tensor are refused, too many as well") {
  const segment outside[] = {{0, 0, 2}, {3, 2, 2}};
  CHECK(describe(view(data, {4}).ranges(0, outside, 2, 5)).possible);
  CHECK_FALSE(describe(view(data, {4}).ranges(0, outside, 2, 4)).possible);
  CHECK_FALSE(describe(view(data, {3}).ranges(0, outside, 2, 5)).possible);
  const auto nine = fused({1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, 0);
  CHECK((view(data, {9}).shard("tp", 0, nine).raw().flags & numdiff_view_invalid) != 0);
  const segment apart[] = {{0, 0, 1}, {3, 2, 1}};
  CHECK_FALSE(describe(view(data, {3}).ranges(0, apart, 2, 5)).possible);
  CHECK((view(data, {4}).ranges(1, outside, 2, 5).raw().flags & numdiff_view_invalid) != 0);
}

TEST_CASE("the parts of a dimension cover it once, and a flat range meets its tensors") {
  for (const std::int64_t size : {0, 1, 7, 16}) {
    for (const std::int64_t parts : {1, 3, 4}) {
      std::vector<int> by_even(static_cast<std::size_t>(size)), by_zigzag(by_even);
      for (std::int64_t at = 0; at < parts; ++at) {
        for (const auto& [r, seen] :
             {std::pair(even(size, parts, at), &by_even), std::pair(zigzag(size, parts, at), &by_zigzag)}) {
          for (std::uint32_t i = 0; i < r.count; ++i)
            for (std::int64_t k = 0; k < r.list[i].length; ++k)
              ++(*seen)[static_cast<std::size_t>(r.list[i].global_begin + k)];
        }
      }
      CHECK(by_even == std::vector<int>(static_cast<std::size_t>(size), 1));
      CHECK(by_zigzag == std::vector<int>(static_cast<std::size_t>(size), 1));
    }
  }
  const segment middle = overlap(10, 20, 15, 25), behind = overlap(10, 20, 30, 40);
  CHECK((middle.global_begin == 5 && middle.length == 10));
  CHECK(behind.length == 0);
}

TEST_CASE("a flat stretch of a shard is stretches of the whole") {
  std::vector<std::vector<std::int64_t>> found;
  const auto note = [&](const segment& s) { found.push_back({s.global_begin, s.local_begin, s.length}); };
  // Columns 4 to 7 of [3, 8]: elements 3 to 9 of 12.
  each_piece({3, 4}, {0, 4}, {3, 8}, {3, 0, 7}, note);
  CHECK(found == std::vector<std::vector<std::int64_t>>{{7, 0, 1}, {12, 1, 4}, {20, 5, 2}});
  found.clear();
  // Rows lie behind each other.
  each_piece({2, 8}, {1, 0}, {3, 8}, {3, 0, 10}, note);
  CHECK(found == std::vector<std::vector<std::int64_t>>{{11, 0, 10}});
  found.clear();
  each_piece({2, 8}, {1, 0}, {3, 8}, {0, 0, 0}, note);
  CHECK(found == std::vector<std::vector<std::int64_t>>{{0, 0, 0}});
}

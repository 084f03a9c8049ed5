// What a view holds of the whole tensor, against the same found element by element; and that readers of
// shards read every number once, a window at a time.
#include "analysis/index_map.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "analysis/build_run.hpp"
#include "analysis/measure.hpp"
#include "analysis/values.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::index_map;
using analysis::placement;
using analysis::stretch;

namespace {

model::shape_row shaped(const std::vector<std::int64_t>& extents) {
  model::shape_row shape{};
  shape.rank = static_cast<std::uint32_t>(extents.size());
  std::ranges::copy(extents, shape.extent);
  return shape;
}

// Local index by global index, from the indices that each dimension holds (-1: padding).
std::map<std::int64_t, std::int64_t> one_by_one(const std::vector<std::vector<std::int64_t>>& held,
                                                const std::vector<std::int64_t>& global) {
  std::map<std::int64_t, std::int64_t> all;
  std::int64_t count = 1;
  for (const auto& d : held) count *= static_cast<std::int64_t>(d.size());
  for (std::int64_t local = 0; local < count; ++local) {
    std::int64_t rest = local, index = 0, weight = 1;
    bool padding = false;
    for (std::size_t d = held.size(); d-- > 0;) {
      const auto size = static_cast<std::int64_t>(held[d].size());
      const std::int64_t at = held[d][static_cast<std::size_t>(rest % size)];
      rest /= size;
      padding = padding || at < 0;
      index += at * weight;
      weight *= global[d];
    }
    if (!padding) all.emplace(index, local);
  }
  return all;
}

void check(const placement& where, const model::shape_row& shape, const std::vector<std::int64_t>& ids,
           const std::map<std::int64_t, std::int64_t>& expected) {
  const auto map = index_map::of(where, shape, ids);
  REQUIRE(map);
  CHECK(map->count() == static_cast<std::int64_t>(expected.size()));
  const std::int64_t all = where.elements();
  for (const std::int64_t window : {all, std::int64_t{1}, std::int64_t{7}, std::int64_t{16}}) {
    std::map<std::int64_t, std::int64_t> seen;
    std::int64_t before = -1;
    for (std::int64_t first = 0; first < all; first += window) {
      map->visit(first, std::min(first + window, all), [&](const stretch& s) {
        CHECK(s.global > before);
        CHECK((s.length > 0 && s.global >= first && s.global + s.length <= first + window));
        before = s.global + s.length - 1;
        for (std::int64_t i = 0; i < s.length; ++i) seen.emplace(s.global + i, s.local + i);
      });
    }
    CHECK(seen == expected);
  }
}

placement of_text(const std::string& text) {
  static analysis::placement_cache placements;
  return placements.of(text);
}

}  // namespace

TEST_CASE("boxes, lists of ranges in several dimensions, ids and flat pieces hold what they say") {
  check(of_text(R"({"mesh":[],"global":[4,6,5],"box":[[1,3],[0,6],[0,5]]})"), shaped({2, 6, 5}), {},
        one_by_one({{1, 2}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}}, {4, 6, 5}));
  check(of_text(R"({"mesh":[],"global":[4,6,5],"box":[[0,4],[2,5],[1,3]]})"), shaped({4, 3, 2}), {},
        one_by_one({{0, 1, 2, 3}, {2, 3, 4}, {1, 2}}, {4, 6, 5}));
  // A sequence in zig-zag and three fused matrices, in one tensor; the second with one padded index.
  check(of_text(
            R"({"mesh":[],"global":[8,9],"box":[[0,8],[0,9]],"ranges":[[[0,2],[6,8]],[[6,7],[0,1],[3,4]]]})"),
        shaped({4, 4}), {}, one_by_one({{0, 1, 6, 7}, {6, 0, 3, -1}}, {8, 9}));
  check(of_text(R"({"mesh":[],"global":[9,4],"box":[[0,9],[1,3]],"ids":0})"), shaped({5, 2}),
        {8, 2, -1, 3, 0}, one_by_one({{8, 2, -1, 3, 0}, {1, 2}}, {9, 4}));
  std::map<std::int64_t, std::int64_t> flat;
  for (std::int64_t i = 0; i < 5; ++i) flat.emplace(20 + i, i);
  for (std::int64_t i = 0; i < 3; ++i) flat.emplace(2 + i, 6 + i);
  check(of_text(R"({"mesh":[],"global":[5,6],"flat":[[20,0,5],[2,6,3]]})"), shaped({10}), {}, flat);
  check(of_text(R"({"mesh":[],"global":[3,4],"box":[[3,3],[0,4]]})"), shaped({0, 4}), {}, {});
}

TEST_CASE("what leaves the tensor, or is held twice, is no map") {
  const auto none = [](const char* text, const std::vector<std::int64_t>& extents,
                       const std::vector<std::int64_t>& ids = {}) {
    return !index_map::of(of_text(text), shaped(extents), ids);
  };
  CHECK(none(R"({"mesh":[],"global":[4],"box":[[2,5]]})", {3}));
  CHECK(none(R"({"mesh":[],"global":[4],"box":[[0,4]],"ids":0})", {2}, {1, 4}));
  CHECK(none(R"({"mesh":[],"global":[4],"box":[[0,4]],"ids":0})", {2}, {1, 1}));
  CHECK(none(R"({"mesh":[],"global":[4],"box":[[0,4]],"ids":0})", {2}));
  CHECK(none(R"({"mesh":[],"global":[8],"box":[[0,8]],"ranges":[[[0,3],[2,4]]]})", {5}));
  CHECK(none(R"({"mesh":[],"global":[8],"flat":[[0,0,3],[2,3,2]]})", {5}));
  CHECK(none(R"({"mesh":[],"global":[8],"flat":[[6,0,3]]})", {3}));
}

TEST_CASE("maps overlap when they share an element") {
  const auto map = [](const char* text, const std::vector<std::int64_t>& extents) {
    return *index_map::of(of_text(text), shaped(extents), {});
  };
  const auto left = map(R"({"mesh":[],"global":[4,6],"box":[[0,4],[0,3]]})", {4, 3}),
             right = map(R"({"mesh":[],"global":[4,6],"box":[[0,4],[3,6]]})", {4, 3}),
             top = map(R"({"mesh":[],"global":[4,6],"box":[[0,1],[0,6]]})", {1, 6}),
             zigzag =
                 map(R"({"mesh":[],"global":[4,6],"box":[[0,4],[0,6]],"ranges":[[[1,2],[3,4]],[]]})", {2, 6}),
             flat = map(R"({"mesh":[],"global":[4,6],"flat":[[9,0,3]]})", {3}),
             none = map(R"({"mesh":[],"global":[4,6],"box":[[2,2],[0,6]]})", {0, 6});
  CHECK_FALSE(left.overlaps(right));
  CHECK(left.overlaps(top));
  CHECK_FALSE(top.overlaps(zigzag));
  CHECK(zigzag.overlaps(right));
  CHECK(flat.overlaps(right));
  CHECK_FALSE(flat.overlaps(left));
  CHECK(flat.overlaps(zigzag));
  CHECK_FALSE(none.overlaps(zigzag));
}

TEST_CASE("shards of any form are compared with one read of every number, in windows") {
  // Four ranks hold the columns of three fused matrices; one rank holds all, in another format.
  constexpr std::int64_t rows = 300, columns = 1200;
  const std::vector<double> all = numbers(static_cast<std::size_t>(rows * columns), 8);
  run_builder one(1), four(4);
  one->op(0, "s", "f", "mystery");
  one->output("y", whole(all, dtype::f32, {rows, columns}));
  for (int r = 0; r < 4; ++r) {
    std::vector<double> own;
    std::string ranges;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t m = 0; m < 3; ++m)
        for (std::int64_t j = 0; j < 100; ++j)
          own.push_back(all[static_cast<std::size_t>(i * columns + m * 400 + r * 100 + j)]);
    }
    for (std::int64_t m = 0; m < 3; ++m)
      ranges += (m > 0 ? ",[" : "[") + std::to_string(m * 400 + r * 100) + "," +
                std::to_string(m * 400 + r * 100 + 100) + "]";
    rank_builder& k = four[static_cast<std::size_t>(r)];
    k.op(0, "s", "f", "mystery");
    k.output("y", whole(own, dtype::bf16, {rows, 300}));
    four.run().ranks[static_cast<std::size_t>(r)].captures.back().placement =
        k.text(R"({"mesh":[)" + axis("tp", 4, r, "sharded", 1) +
               R"(],"global":[300,1200],"box":[[0,300],[0,1200]],"ranges":[[],[)" + ranges + "]]}");
  }
  analysis::symbols names;
  const analysis::run_index left(one.run(), names, {}), right(four.run(), names, {});
  analysis::placement_cache placements, others;
  const auto a = merge(left, left.captures().back(), placements),
             b = merge(right, right.captures().back(), others);
  CHECK(b.covered);
  CHECK(b.parts.size() == 4);
  const auto m = measure_values(left, a, placements, right, b, others);
  REQUIRE(m);
  CHECK(m->apart.compared == rows * columns);
  CHECK(m->apart.worst_ulp <= 0.501);
  for (std::size_t r = 0; r < 4; ++r) {
    CHECK(four[r].numbers_read() == rows * 300);
    CHECK(four[r].longest_read() <= 1 << 16);
  }
  CHECK(one->numbers_read() == rows * columns);
}

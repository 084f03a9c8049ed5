// Weights that must be equal bit for bit in any layout, by digests alone.
#include <doctest/doctest.h>

#include <cstring>

#include "array.hpp"
#include "ranks/recorded_run.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

constexpr std::int64_t rows = 40, columns = 72;

struct flip {
  std::int64_t row, column;
  int bit;
};

// A weight of `type`, its columns on `ranks` ranks, with some bits of its codes flipped.
reproduce::program weights(dtype type, std::int32_t ranks, const std::vector<flip>& flips = {}) {
  return [=](session& s, std::int32_t rank) {
    s.mesh("tp", ranks, rank);
    const std::int64_t begin = columns * rank / ranks, width = columns * (rank + 1) / ranks - begin;
    const std::vector<double> all = reproduce::normal(rows * columns, 5, 20);
    std::vector<double> own;
    for (std::int64_t i = 0; i < rows; ++i)
      own.insert(own.end(), all.begin() + i * columns + begin, all.begin() + i * columns + begin + width);
    const reproduce::array w(type, {rows, width}, own);
    std::vector<std::byte> codes(w.data(), w.data() + w.size() * bytes_of(type));
    for (const flip& f : flips) {
      if (f.column < begin || f.column >= begin + width) continue;
      const auto at = static_cast<std::size_t>(f.row * width + f.column - begin) * bytes_of(type);
      codes[at + static_cast<std::size_t>(f.bit / 8)] ^= static_cast<std::byte>(1U << (f.bit % 8));
    }
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(forward);
    NUMDIFF_OP(op, "load", mystery, dtypes(type, type, type));
    NUMDIFF_WEIGHT(op, "w", view(codes.data(), type, {rows, width}).shard("tp", 1).box(1, begin, columns));
  };
}

}  // namespace

TEST_CASE("one, two, three and four ranks hold the same weights: shown by digests") {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f64, dtype::f8e4m3fn, dtype::i64}) {
    const recorded_run one(weights(type, 1), 1, level::stats);
    for (const std::int32_t ranks : {2, 3, 4}) {
      const recorded_run many(weights(type, ranks), ranks, level::stats);
      const auto c = compare(one.run(), many.run());
      INFO(told(c));
      CHECK(c.verdict == outcome::agree);
      CHECK(c.totals.equal == 1);
    }
    const recorded_run three(weights(type, 3), 3, level::stats), four(weights(type, 4), 4, level::stats);
    CHECK(compare(three.run(), four.run()).totals.equal == 1);
  }
}

TEST_CASE("one flipped bit in one shard is found: the rank, the element and the bit, from digests alone") {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f64, dtype::f8e4m3fn, dtype::i64}) {
    const int bits = static_cast<int>(8 * bytes_of(type));
    for (const int bit : {0, bits / 2, bits - 2}) {
      const flip one{31, 59, bit};  // 59 of 72 columns: rank 3 of 4
      const recorded_run whole(weights(type, 1), 1, level::stats),
          four(weights(type, 4, {one}), 4, level::stats);
      const auto c = compare(whole.run(), four.run());
      INFO(name_of(type) << " bit " << bit << ": " << told(c));
      CHECK(c.verdict == outcome::differ);
      REQUIRE(c.first_divergence);
      CHECK(c.first_divergence->where.tensor == "w");
      CHECK(c.first_divergence->where.ranks == std::vector<std::int32_t>{3});
      CHECK(number(c, "element") == 31 * columns + 59);
      CHECK(number(c, "bit") == bit);
      CHECK(c.first_divergence->message.find("by one bit") != std::string::npos);
    }
  }
}

TEST_CASE("bits in two shards are beyond one digest: then the shards of the reference decide") {
  const std::vector<flip> two = {{3, 1, 4}, {20, 40, 9}};  // ranks 0 and 2 of 4
  const recorded_run whole(weights(dtype::f32, 1), 1, level::stats),
      shards(weights(dtype::f32, 1), 1, level::stats, "tp=4"),
      four(weights(dtype::f32, 4, two), 4, level::stats);
  const auto open = compare(whole.run(), four.run());
  INFO(told(open));
  REQUIRE(open.first_divergence);
  CHECK(open.first_divergence->where.ranks.empty());
  REQUIRE(open.next_capture);
  CHECK(open.next_capture->shards == "tp=4");
  const auto named = compare(shards.run(), four.run());
  INFO(told(named));
  REQUIRE(named.first_divergence);
  CHECK(named.first_divergence->where.ranks == std::vector<std::int32_t>{0, 2});
  // Where the layouts are the same, their own digests do.
  const recorded_run honest(weights(dtype::f32, 4), 4, level::stats);
  CHECK(compare(honest.run(), four.run()).first_divergence->where.ranks == std::vector<std::int32_t>{0, 2});
}

#include <doctest/doctest.h>

#include "messages.hpp"
#include "sent_rows.hpp"
#include "store/load.hpp"
#include "store/run_writer.hpp"

using namespace numdiff;
using namespace numdiff::testing;

TEST_CASE("equal content is stored once") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  const sent s;
  store::run_writer writer(path, {"r", 1, 0, 0, false});
  for (std::uint64_t i = 1; i <= 3; ++i) {
    detail::capture_row row{};
    row.seq = i;
    row.count = 6;
    row.dtype = static_cast<std::uint16_t>(dtype::bf16);
    row.digest0 = i == 3 ? 99 : 42;
    writer.write(message(message_kind::capture, i, row)
                     .text(field::name, "x")
                     .field(field::values, raw(s.codes))
                     .field(field::sketch, raw(buckets))
                     .done());
  }
  writer.close();
  const model::run run = store::load_run(path);
  const auto& c = run.ranks.at(0).captures;
  REQUIRE(c.size() == 3);
  CHECK(c[0].payload == c[1].payload);
  CHECK(c[2].payload == 6);
  CHECK(run.ranks[0].sketches.size() == 1);
}

TEST_CASE("many rows and large payloads cross chunks and batches") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  store::run_writer writer(path, {"r", 1, 0, 0, false});
  constexpr std::uint64_t n = 300;
  for (std::uint64_t i = 0; i < n; ++i) {
    std::vector<float> values(20'000, static_cast<float>(i));
    values[17] = -1;
    detail::capture_row row{};
    row.seq = i + 1;
    row.count = static_cast<std::int64_t>(values.size());
    row.dtype = static_cast<std::uint16_t>(dtype::f32);
    row.digest0 = i + 1;
    writer.write(message(message_kind::capture, i + 1, row)
                     .text(field::name, "x" + std::to_string(i % 5))
                     .field(field::values, raw(values))
                     .done());
    if (i % 50 == 7) writer.commit(i + 1);
  }
  writer.commit(n);
  writer.close();
  const model::run run = store::load_run(path);
  const model::rank_data& rank = run.ranks.at(0);
  REQUIRE(rank.captures.size() == n);
  for (std::uint64_t i = 0; i < n; i += 37) {
    const auto v = values_of<float>(rank, dtype::f32, rank.captures[i].payload, 20'000);
    CHECK(v[0] == static_cast<float>(i));
    CHECK(v[17] == -1);
    CHECK(v[19'999] == static_cast<float>(i));
    CHECK(rank.strings[rank.captures[i].name] == "x" + std::to_string(i % 5));
  }
  std::vector<float> beyond(2);
  CHECK_THROWS_AS(rank.payload->read(dtype::f32, 20'000 * static_cast<std::int64_t>(n) - 1,
                                     std::as_writable_bytes(std::span(beyond))),
                  store::error);
}

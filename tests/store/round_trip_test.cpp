#include "store/run_writer.hpp"

#include <doctest/doctest.h>

#include "messages.hpp"
#include "sent_rows.hpp"
#include "store/load.hpp"

using namespace numdiff;
using namespace numdiff::testing;

TEST_CASE("what is written is read") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  const sent s;
  {
    store::run_writer writer(path, {"run-1", 1, 0, 2, false});
    writer.write(s.all());
    SUBCASE("closed") {
      writer.commit(7);
      writer.close();
      const model::run run = store::load_run(path);
      CHECK(run.run_id == "run-1");
      CHECK(run.world_size == 1);
      CHECK(run.has_fingerprint);
      CHECK(run.warnings.empty());
      REQUIRE(run.ranks.size() == 1);
      CHECK(run.ranks[0].closed);
      CHECK(run.ranks[0].cut_rows == 0);
      CHECK(run.ranks[0].manifest.at("run.restart").value == "2");
      CHECK(run.ranks[0].manifest.at("run.kind").value == "capture");
      check_all(run.ranks[0], s);
    }
    SUBCASE("while its writer lives") {
      writer.commit(7);
      const model::run run = store::load_run(path);
      CHECK_FALSE(run.ranks.at(0).closed);
      check_all(run.ranks[0], s);
      writer.abandon();
    }
    SUBCASE("left open") {
      writer.commit(7);
      writer.abandon();
      const model::run run = store::load_run(path);
      CHECK_FALSE(run.ranks.at(0).closed);
      check_all(run.ranks[0], s);
    }
    SUBCASE("before the first commit") {
      const model::run run = store::load_run(path);
      CHECK(run.run_id == "run-1");
      CHECK(run.ranks.at(0).ops.empty());
      writer.abandon();
    }
  }
}

TEST_CASE("without SWMR, for network file systems, a file that was left open is read up to its commit") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  const sent s;
  for (const bool closed : {true, false}) {
    store::run_writer writer(path, {"r", 1, 0, 0, false}, false);
    writer.write(s.all());
    writer.commit(7);
    if (closed) {
      writer.close();
    } else {
      writer.abandon();
    }
    const model::run run = store::load_run(path);
    CHECK(run.ranks.at(0).manifest.at("storage.mode").value == "append");
    CHECK(run.ranks[0].closed == closed);
    check_all(run.ranks[0], s);
  }
}

TEST_CASE("an older file of the name becomes .old") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  for (const char* id : {"first", "second"}) {
    store::run_writer writer(path, {id, 1, 0, 0, false});
    writer.close();
  }
  CHECK(store::load_run(path).run_id == "second");
  CHECK(store::load_run(path + ".old").run_id == "first");
}

TEST_CASE("a row shorter than today's is read with its defaults, unknown kinds and fields are counted") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  store::run_writer writer(path, {"r", 1, 0, 0, false});
  struct {
    std::uint64_t seq = 3;
    std::int64_t step = 4;
  } old_op;
  writer.write(
      message(message_kind::op, 1, old_op).text(field::name, "x").text(static_cast<field>(999), "?").done());
  writer.write(message(static_cast<message_kind>(77), 2, old_op).done());
  writer.commit(2);
  writer.close();
  const model::run run = store::load_run(path);
  const model::rank_data& rank = run.ranks.at(0);
  REQUIRE(rank.ops.size() == 1);
  CHECK(rank.ops[0].step == 4);
  CHECK(rank.ops[0].update == -1);
  CHECK(rank.ops[0].flops == -1);
  CHECK(rank.unknown_rows == 2);
}

TEST_CASE("a collective told after its op is a row of its own") {
  const scratch dir;
  store::run_writer writer(dir / "run_a.h5", {"r", 1, 0, 0, false});
  const auto row = numbered<detail::collective_row>(50);
  writer.write(message(message_kind::collective, 1, row).text(field::communicator, "dp").done());
  writer.close();
  const model::run run = store::load_run(dir / "run_a.h5");
  REQUIRE(run.ranks.at(0).collectives.size() == 1);
  check_equal(run.ranks[0].collectives[0], row, {"communicator", "ranks", "algorithm", "protocol"});
  CHECK(run.ranks[0].strings[run.ranks[0].collectives[0].communicator] == "dp");
}

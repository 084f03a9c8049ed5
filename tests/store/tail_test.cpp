#include "numdiff/detail/tail.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "messages.hpp"
#include "store/load.hpp"
#include "store/repair.hpp"
#include "store/run_writer.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using detail::field;
using detail::message_kind;

namespace {

bytes capture(std::uint64_t id, const std::string& name = "x") {
  const std::vector<float> values = {static_cast<float>(id), -1};
  detail::capture_row row{};
  row.seq = id;
  row.count = 2;
  row.dtype = static_cast<std::uint16_t>(dtype::f32);
  row.digest0 = id;
  return message(message_kind::capture, id, row)
      .text(field::name, name)
      .field(field::values, raw(values))
      .done();
}

// A tail as the runtime leaves it: `messages` lie from `read` on.
void write_tail(const std::string& path, const bytes& messages, std::uint64_t read = 0,
                std::string_view run_id = "r", std::int32_t rank = 0, std::uint64_t capacity = 1 << 14) {
  detail::tail_header h{};
  std::copy_n(detail::tail_magic, 8, h.magic);
  h.version = detail::tail_version;
  h.header_bytes = detail::tail_header_bytes;
  h.capacity = capacity;
  run_id.copy(h.run_id, sizeof(h.run_id));
  h.rank = rank;
  h.read = read;
  h.write = read + messages.size();
  std::vector<char> all(detail::tail_header_bytes + capacity);
  std::memcpy(all.data(), &h, sizeof(h));
  for (std::size_t i = 0; i < messages.size(); ++i)
    all[detail::tail_header_bytes + (read + i) % capacity] = static_cast<char>(messages[i]);
  std::ofstream(path, std::ios::binary).write(all.data(), static_cast<std::streamsize>(all.size()));
}

bytes filler(std::size_t size) {
  bytes out(size);
  detail::message_header h{};
  h.size = static_cast<std::uint32_t>(size);
  std::memcpy(out.data(), &h, std::min(size, sizeof(h)));
  return out;
}

// A file with captures 1..n, left open.
void write_open(const std::string& path, std::uint64_t n) {
  store::run_writer writer(path, {"r", 1, 0, 0, false});
  for (std::uint64_t id = 1; id <= n; ++id) writer.write(capture(id));
  writer.commit(n);
  writer.abandon();
}

std::vector<float> values_of(const model::rank_data& rank, std::size_t i) {
  std::vector<float> v(2);
  rank.payload->read(dtype::f32, rank.captures.at(i).payload, std::as_writable_bytes(std::span(v)));
  return v;
}

void check_run(const std::string& path, std::uint64_t n) {
  const model::run run = store::load_run(path);
  const model::rank_data& rank = run.ranks.at(0);
  REQUIRE(rank.captures.size() == n);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(rank.captures[i].seq == i + 1);
    CHECK(values_of(rank, i) == std::vector<float>{static_cast<float>(i + 1), -1});
    CHECK(rank.strings[rank.captures[i].name] == (i >= 5 ? "late" : "x"));
  }
}

}  // namespace

TEST_CASE("a tail continues its file, whatever the file has of it already") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  write_open(path, 5);
  bytes tail;
  for (std::uint64_t id = 4; id <= 8; ++id) append(tail, capture(id, id > 5 ? "late" : "x"));
  SUBCASE("as it is") {
    write_tail(path + ".tail", tail);
    check_run(path, 8);
    CHECK_FALSE(store::load_run(path).ranks.at(0).closed);
    CHECK(store::load_run(path).ranks.at(0).cut_rows == 0);
  }
  SUBCASE("with fillers and around the end of the ring") {
    constexpr std::uint64_t capacity = 1 << 14;
    bytes wrapped = capture(4);
    append(wrapped, filler(8));
    append(wrapped, capture(5));
    const std::uint64_t start = 5 * capacity - wrapped.size() - 40;
    append(wrapped, filler(40));
    for (std::uint64_t id = 6; id <= 8; ++id) append(wrapped, capture(id, "late"));
    write_tail(path + ".tail", wrapped, start);
    check_run(path, 8);
  }
  SUBCASE("with a message that was never finished and one that is damaged") {
    bytes unfinished = capture(90);
    unfinished[6] = std::byte{0};
    bytes damaged = capture(91);
    damaged[60] ^= std::byte{1};
    append(unfinished, damaged);
    append(unfinished, tail);
    write_tail(path + ".tail", unfinished);
    check_run(path, 8);
    CHECK(store::load_run(path).ranks.at(0).cut_rows == 2);
  }
  SUBCASE("repaired") {
    write_tail(path + ".tail", tail);
    const auto done = store::repair(path);
    REQUIRE(done.size() == 1);
    CHECK(done[0].written);
    CHECK(done[0].captures == 8);
    CHECK_FALSE(std::filesystem::exists(path + ".tail"));
    check_run(path, 8);
    CHECK(store::load_run(path).ranks.at(0).manifest.at("closed").value == "repaired");
    check_run(path + ".old", 8);  // with its own tail
    CHECK_FALSE(store::repair(path).at(0).written);
  }
  SUBCASE("repaired elsewhere, the original stays") {
    write_tail(path + ".tail", tail);
    CHECK(store::repair(path, {.output = dir / "whole.h5"}).at(0).written);
    check_run(dir / "whole.h5", 8);
    check_run(path, 8);
    CHECK(std::filesystem::exists(path + ".tail"));
  }
}

TEST_CASE("a run that was killed before its file was born is its tail") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  bytes tail;
  for (std::uint64_t id = 1; id <= 8; ++id) append(tail, capture(id, id > 5 ? "late" : "x"));
  write_tail(path + ".tail", tail, 0, "only-a-tail");
  check_run(path, 8);
  CHECK(store::load_run(path).run_id == "only-a-tail");
  CHECK(store::repair(path).at(0).written);
  check_run(path, 8);
}

TEST_CASE("a tail of another run or rank is left out, with a warning") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  write_open(path, 3);
  SUBCASE("run") {
    write_tail(path + ".tail", capture(9), 0, "other");
  }
  SUBCASE("rank") {
    write_tail(path + ".tail", capture(9), 0, "r", 1);
  }
  const model::run run = store::load_run(path);
  CHECK(run.ranks.at(0).captures.size() == 3);
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].find("run_a.h5.tail") != std::string::npos);
  CHECK_THROWS_AS(store::repair(path), store::error);
}

TEST_CASE("a damaged tail is a warning") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  write_open(path, 3);
  write_tail(path + ".tail", capture(9));
  std::filesystem::resize_file(path + ".tail", 5000);
  const model::run run = store::load_run(path);
  CHECK(run.ranks.at(0).captures.size() == 3);
  CHECK(run.warnings.size() == 1);
}

TEST_CASE("rows behind the newest commit are a cut tail") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  {
    store::run_writer writer(path, {"r", 1, 0, 0, false});
    for (std::uint64_t id = 1; id <= 3; ++id) writer.write(capture(id));
    writer.commit(3);
    // More than one batch reaches the file without a commit.
    const std::vector<float> large(2'000'000, 1);
    for (std::uint64_t id = 4; id <= 6; ++id) {
      detail::capture_row row{};
      row.seq = id;
      row.count = static_cast<std::int64_t>(large.size());
      row.dtype = static_cast<std::uint16_t>(dtype::f32);
      row.digest0 = id;
      writer.write(message(message_kind::capture, id, row)
                       .text(field::name, "big")
                       .field(field::values, raw(large))
                       .done());
    }
    const model::run run = store::load_run(path);
    CHECK(run.ranks.at(0).captures.size() == 3);
    writer.abandon();
  }
  check_run(path, 3);
}

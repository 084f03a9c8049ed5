// Many rank files: read once, in children, in order, by one process or a team.
#include <doctest/doctest.h>
#include <signal.h>

#include <deque>
#include <fstream>
#include <map>

#include "messages.hpp"
#include "store/index_file.hpp"
#include "store/load.hpp"
#include "store/reading_children.hpp"
#include "store/run_writer.hpp"
#include "store/team.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using detail::field;
using detail::message_kind;

namespace {

constexpr std::uint64_t rows = 130;  // more than two chunks of sketches

double bucket_of(std::int32_t rank, std::uint64_t row) {
  return 1000.0 * rank + static_cast<double>(row);
}

std::string rank_path(const scratch& dir, std::int32_t rank) {
  std::string number = std::to_string(rank);
  return dir / ("run.rank" + std::string(5 - number.size(), '0') + number + ".h5");
}

void write_rank(const std::string& path, std::int32_t rank, std::int32_t world) {
  store::run_writer writer(path, {"many", world, rank, 0, false});
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::vector<double> sketch(256, bucket_of(rank, i));
    const std::vector<float> values = {static_cast<float>(rank), static_cast<float>(i)};
    detail::capture_row row{};
    row.seq = i + 1;
    row.count = 2;
    row.dtype = static_cast<std::uint16_t>(dtype::f32);
    row.digest0 = i + 1;
    writer.write(message(message_kind::capture, i + 1, row)
                     .text(field::name, "x")
                     .field(field::sketch, raw(sketch))
                     .field(field::values, raw(values))
                     .done());
  }
  writer.close();
}

std::string write_run(const scratch& dir, std::int32_t world) {
  for (std::int32_t r = 0; r < world; ++r) write_rank(rank_path(dir, r), r, world);
  store::write_index(dir / "run.h5", "many", world, 0);
  return dir / "run.h5";
}

void check_run(const model::run& run, std::int32_t world) {
  REQUIRE(run.ranks.size() == static_cast<std::size_t>(world));
  for (std::int32_t r = 0; r < world; ++r) {
    const model::rank_data& rank = run.ranks[static_cast<std::size_t>(r)];
    CHECK(rank.rank == r);
    CHECK(rank.closed);
    REQUIRE(rank.captures.size() == rows);
    REQUIRE(rank.sketches.size() == rows);
    for (const model::capture_row& c : rank.captures) {
      const model::sketch sketch = rank.sketches[static_cast<std::size_t>(c.sketch)];
      const double expected = bucket_of(r, c.seq - 1);
      CHECK(sketch.front() == expected);
      CHECK(sketch.back() == expected);
      std::vector<float> values(2);
      rank.payload->read(dtype::f32, c.payload, std::as_writable_bytes(std::span(values)));
      CHECK(values == std::vector<float>{static_cast<float>(r), static_cast<float>(c.seq - 1)});
    }
  }
}

void spoil(const std::string& path) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << "not a run";
}

std::string refusal_of(const std::string& path, const store::load_options& how = {}) {
  try {
    store::load_runs(std::span(&path, 1), how);
  } catch (const store::error& e) {
    return e.file();
  }
  return "loaded";
}

// What other processes sent, kept until the first one takes it.
class mailbox : public store::team {
 public:
  mailbox(std::size_t size, std::size_t number,
          std::map<std::size_t, std::deque<std::vector<std::byte>>>& mail)
      : size_(size), number_(number), mail_(mail) {}
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] std::size_t number() const noexcept override { return number_; }
  void send(std::span<const std::byte> m) override { mail_[number_].emplace_back(m.begin(), m.end()); }
  std::vector<std::byte> receive(std::size_t from) override {
    if (mail_[from].empty()) throw std::runtime_error("nothing was sent");
    std::vector<std::byte> m = std::move(mail_[from].front());
    mail_[from].pop_front();
    return m;
  }

 private:
  std::size_t size_, number_;
  std::map<std::size_t, std::deque<std::vector<std::byte>>>& mail_;
};

// What the first of `size` processes has, after the others did their share.
std::vector<model::run> by_team(const std::string& path, std::size_t size) {
  std::map<std::size_t, std::deque<std::vector<std::byte>>> mail;
  for (std::size_t number = 1; number < size; ++number) {
    mailbox other(size, number, mail);
    CHECK(store::load_runs(std::span(&path, 1), {.team = &other}).empty());
  }
  mailbox first(size, 0, mail);
  std::vector<model::run> runs = store::load_runs(std::span(&path, 1), {.team = &first});
  for (const auto& [from, rest] : mail) CHECK(rest.empty());
  return runs;
}

}  // namespace

TEST_CASE("every rank has its own rows, sketches and values, in order") {
  const scratch dir;
  check_run(store::load_run(write_run(dir, 7)), 7);
}

TEST_CASE("a team reads what one process reads") {
  const scratch dir;
  const std::string path = write_run(dir, 7);
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{9}}) {
    CAPTURE(size);
    check_run(by_team(path, size).at(0), 7);
  }
}

TEST_CASE("the first file that cannot be read is named, by one process and by a team") {
  const scratch dir;
  const std::string path = write_run(dir, 7);
  spoil(rank_path(dir, 5));
  spoil(rank_path(dir, 3));
  CHECK(refusal_of(path) == rank_path(dir, 3));
  CHECK(refusal_of(path, {.isolate = false}) == rank_path(dir, 3));
  for (const std::size_t size : {std::size_t{2}, std::size_t{4}}) {
    CAPTURE(size);
    std::string refused = "loaded";
    try {
      by_team(path, size);
    } catch (const store::error& e) {
      refused = e.file();
    }
    CHECK(refused == rank_path(dir, 3));
  }
}

TEST_CASE("a child that crashes is a refusal of the file that it read, and the others are taken") {
  std::vector<store::file_to_read> files;
  std::vector<int> taken(6, 0);
  for (std::size_t i = 0; i < taken.size(); ++i)
    files.push_back(
        {"file" + std::to_string(i),
         [i]() -> std::vector<std::byte> {
           if (i == 4) ::raise(SIGSEGV);
           return {static_cast<std::byte>(i)};
         },
         [&taken, i](std::span<const std::byte> b) { taken[i] = static_cast<int>(b.front()) + 1; }});
  const auto failed = store::read_in_children(files);
  REQUIRE(failed.has_value());
  CHECK(failed->file == 4);
  CHECK(failed->why.file == "file4");
  CHECK(failed->why.sentence.find("crashes") != std::string::npos);
  for (std::size_t i = 0; i < 4; ++i) CHECK(taken[i] == static_cast<int>(i) + 1);
}

TEST_CASE("what a reader or a taker throws comes out") {
  const auto outcome = [](bool in_child) {
    std::vector<store::file_to_read> files = {
        {"file",
         [in_child]() -> std::vector<std::byte> {
           if (in_child) throw std::bad_alloc();
           return std::vector<std::byte>(3);
         },
         [](std::span<const std::byte>) { throw store::error("f", "/o", "read", "is not taken"); }}};
    const auto failed = store::read_in_children(files);
    REQUIRE(failed.has_value());
    return failed->why;
  };
  CHECK_THROWS_AS(outcome(true).raise(), std::bad_alloc);
  CHECK_THROWS_WITH_AS(outcome(false).raise(), "f: /o: is not taken", store::error);
}

TEST_CASE("a file that was replaced after it was read gives no sketch of another one") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  write_rank(path, 0, 1);
  const model::run run = store::load_run(path);
  write_rank(path, 0, 1);
  CHECK_THROWS_AS(static_cast<void>(run.ranks.at(0).sketches[0]), store::error);
}

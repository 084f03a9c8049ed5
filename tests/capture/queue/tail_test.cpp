#include "numdiff/detail/tail.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "capture/support/recording.hpp"
#include "numdiff/detail/runtime/tail_file.hpp"

using namespace numdiff::dtypes_short;
using namespace numdiff::detail;

namespace {

struct ring {
  explicit ring(std::size_t capacity) : bytes(capacity, 0xcd) { header.capacity = capacity; }
  void message(std::uint32_t size, std::uint64_t id, bool ready = true, std::uint16_t kind = 3) {
    message_header h{size, kind, static_cast<std::uint16_t>(ready ? 1 : 0), id, size - 24, 0};
    unsigned char* at = bytes.data() + header.write % header.capacity;
    if (size >= sizeof h) h.check = crc32c(at + sizeof h, size - sizeof h);
    std::memcpy(at, &h, std::min<std::size_t>(size, sizeof h));
    header.write += size;
  }
  std::vector<std::uint64_t> complete() const {
    std::vector<std::uint64_t> ids;
    tail_walk walk(header, bytes.data(), bytes.size());
    for (auto item = walk.next(); item != tail_item::end; item = walk.next()) {
      if (item == tail_item::complete) ids.push_back(walk.message()->id);
    }
    return ids;
  }
  tail_header header{};
  std::vector<unsigned char> bytes;
};

}  // namespace

TEST_CASE("complete messages are found behind ones that were never finished") {
  ring r(1024);
  r.message(64, 1);
  r.message(32, 2, false);
  r.message(40, 3);
  r.message(64, 4);
  r.bytes[64 + 32 + 40 + 30] ^= 1U;  // damages 4
  r.message(24, 5);
  CHECK(r.complete() == std::vector<std::uint64_t>{1, 3, 5});
  r.header.read = 64;
  CHECK(r.complete() == std::vector<std::uint64_t>{3, 5});
}

TEST_CASE("fillers are left out at the end of the ring") {
  ring r(256);
  r.message(200, 1);
  r.header.read = 200;
  r.message(56, 0, true, message_filler);
  r.message(64, 2);
  CHECK(r.complete() == std::vector<std::uint64_t>{2});
}

TEST_CASE("headers and sizes that lie end the walk") {
  ring r(256);
  r.message(64, 1);
  const auto with = [&](auto change) {
    ring wrong = r;
    change(wrong);
    return wrong.complete().size();
  };
  CHECK(with([](ring&) {}) == 1);
  CHECK(with([](ring& w) { w.header.capacity = 0; }) == 0);
  CHECK(with([](ring& w) { w.header.capacity = 1 << 20; }) == 0);
  CHECK(with([](ring& w) { w.header.read = 3; }) == 0);
  CHECK(with([](ring& w) { w.header.write = 1 << 20; }) == 0);
  CHECK(with([](ring& w) { w.header.read = 128; }) == 0);
  CHECK(with([](ring& w) { w.bytes[0] = 0; }) == 0);
  CHECK(with([](ring& w) { w.bytes[3] = 0x7f; }) == 0);
  CHECK(with([](ring& w) { w.bytes[0] = 65; }) == 0);
}

TEST_CASE("no content of a tail makes the walk leave the ring") {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    ring r(512);
    r.header.write = 8 * (random() % 128);
    r.header.read = 8 * (random() % 128);
    for (auto& b : r.bytes) b = static_cast<unsigned char>(random() % 3 == 0 ? random() : 0);
    for (std::size_t at = 0; at < 512; at += 64) r.bytes[at] = static_cast<unsigned char>(random());
    CHECK(r.complete().size() <= 64);
  }
}

TEST_CASE("the tail of a session holds what was recorded until it is committed") {
  test::recording r;
  const float x[4] = {1, 2, 3, 4};
  {
    NUMDIFF_OP(op, "y", copy, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "x", numdiff::view(x, {4}));
  }
  const test::bytes all = test::read_file(r.tail());
  tail_header header{};
  REQUIRE(all.size() >= tail_header_bytes);
  std::memcpy(&header, all.data(), sizeof header);
  CHECK(std::memcmp(header.magic, tail_magic, sizeof tail_magic) == 0);
  CHECK(header.version == tail_version);
  CHECK(header.pid == getpid());
  CHECK(header.rank == 0);
  CHECK(header.capacity == 1U << 20U);
  CHECK(std::strlen(header.run_id) == 32);
  CHECK(r.session().flush());
  CHECK(test::read_tail(r.tail()).empty());
  CHECK(test::captures(test::read_messages(r.file())).size() == 1);
}

TEST_CASE("a file that another session writes is left alone, and a dead run's tail is kept beside its file") {
  test::recording r;
  // The lock belongs to the open file, so that one process is enough to see it.
  numdiff::detail::tail_file second;
  std::string error;
  CHECK_FALSE(second.open(r.file(), 1U << 16U, {}, error));
  CHECK(error.find("another process") != std::string::npos);
  r.session().close();

  std::ofstream(r.tail()) << "left behind";
  CHECK(second.open(r.file(), 1U << 16U, {}, error));
  CHECK(test::read_file(r.file() + ".old.tail").size() == 11);
}

TEST_CASE("a program that changes its directory leaves no tail behind") {
  const std::filesystem::path before = std::filesystem::current_path();
  test::recording r;
  std::filesystem::current_path(std::filesystem::path(r.file()).parent_path());
  r.session().close();
  numdiff::session_options o;
  o.file = "relative.h5";
  numdiff::session s(o);
  CHECK(s.active());
  std::filesystem::current_path("/");
  CHECK(std::filesystem::exists(std::filesystem::path(r.file()).replace_filename("relative.h5.tail")));
  s.close();
  CHECK_FALSE(std::filesystem::exists(std::filesystem::path(r.file()).replace_filename("relative.h5.tail")));
  std::filesystem::current_path(before);
}

TEST_CASE("a limit on file sizes does not end the program") {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{std::min<rlim_t>(1U << 18U, before.rlim_max), before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  {
    test::recording r;
    CHECK(r.session().active());
    CHECK_FALSE(std::filesystem::exists(r.tail()));
    CHECK(r.session().flush());
  }
  setrlimit(RLIMIT_FSIZE, &before);
}

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <random>

#include "fuzz_load.hpp"
#include "messages.hpp"
#include "store/intake.hpp"
#include "store/load.hpp"
#include "store/run_writer.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using detail::field;
using detail::message_kind;

namespace {

bytes some_messages() {
  bytes all;
  const std::vector<double> sketch(256, 0.5);
  const std::vector<float> values = {1, 2, 3, 4};
  const bytes histogram = {std::byte{3}, std::byte{2}, std::byte{4}, std::byte{2}};
  for (std::uint64_t id = 1; id <= 20; id += 2) {
    detail::op_row op{};
    op.seq = id;
    append(all, message(message_kind::op, id, op)
                    .text(field::name, "op")
                    .row(field::collective, detail::collective_row{})
                    .done());
    detail::capture_row c{};
    c.seq = id + 1;
    c.op = id;
    c.count = 4;
    c.dtype = static_cast<std::uint16_t>(dtype::f32);
    c.digest0 = id;
    append(all, message(message_kind::capture, id + 1, c)
                    .text(field::name, "x" + std::to_string(id))
                    .row(field::shape, detail::shape_row{})
                    .row(field::scales, detail::scales_row{})
                    .field(field::sketch, raw(sketch))
                    .field(field::histogram, histogram)
                    .field(field::values, raw(values))
                    .done());
  }
  detail::extra_row extra{};
  append(
      all,
      message(message_kind::extra, 21, extra).text(field::key, "k").field(field::bytes, raw(values)).done());
  return all;
}

std::vector<std::uint8_t> content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::uint8_t> mutated(std::vector<std::uint8_t> file, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  if (below(8) == 0) file.resize(below(file.size()) + 1);
  for (std::size_t flips = 1 + below(8); flips > 0; --flips) {
    // Most of a file is chunks of zeros; the head has most of the structure.
    std::uint8_t& byte =
        file[below(below(2) == 0 ? file.size() : std::min<std::size_t>(file.size(), 20'000))];
    byte = below(2) == 0 ? static_cast<std::uint8_t>(random())
                         : static_cast<std::uint8_t>(byte ^ (1U << below(8)));
  }
  return file;
}

// Ends with 0 when the file loads or is refused; the signal, or 1 for another exception, otherwise.
int in_child(const std::vector<std::uint8_t>& file) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    try {
      LLVMFuzzerTestOneInput(file.data(), file.size());
      ::_exit(0);
    } catch (...) {
      ::_exit(1);
    }
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("a flipped or cut file loads or is refused") {
  const scratch dir;
  std::vector<std::vector<std::uint8_t>> corpus;
  for (const bool closed : {true, false}) {
    const std::string path = dir / (closed ? "closed.h5" : "open.h5");
    store::run_writer writer(path, {"r", 1, 0, 0, false});
    writer.write(some_messages());
    writer.commit(21);
    if (closed) {
      writer.close();
    } else {
      writer.abandon();
    }
    corpus.push_back(content(path));
  }
  std::mt19937_64 random(20240601);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  std::uint64_t tried = 0, crashed = 0;
  while (tried < 40 || std::chrono::steady_clock::now() < end) {
    const auto file = mutated(corpus[tried % corpus.size()], random);
    ++tried;
    const int status = in_child(file);
    if (status == 0) continue;
    CHECK(status != 1);
    ++crashed;
    // HDF5 itself gave up: the isolated reader turns that into a refusal.
    const std::string path = dir / "crash.h5";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    CHECK_THROWS_AS(store::load_run(path), store::error);
  }
  MESSAGE(tried << " files, " << crashed << " crashed HDF5 in the child");
}

TEST_CASE("any bytes are messages or not") {
  const bytes good = some_messages();
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    bytes bad = good;
    for (std::uint64_t flips = 1 + random() % 6; flips > 0; --flips)
      bad[random() % bad.size()] = static_cast<std::byte>(random());
    store::intake into{store::lengths{}};
    std::span<const std::byte> rest = bad;
    while (const auto m = store::view_message(rest)) {
      into.take(*m);
      rest = rest.subspan(m->header.size);
    }
    CHECK(into.rows().captures.size() <= 10);
  }
}

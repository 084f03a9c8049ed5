#include "numdiff/detail/runtime/queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace numdiff::detail;

namespace {

struct ring {
  explicit ring(std::uint64_t capacity) : memory(capacity / 8) {
    header.capacity = capacity;
    queue = std::make_unique<message_queue>(header, reinterpret_cast<unsigned char*>(memory.data()), bytes);
  }
  // Takes everything that is there, as the writer does.
  std::vector<std::uint64_t> drain() {
    std::vector<std::uint64_t> ids;
    for (;;) {
      const auto run = queue->next_run(position, 1U << 20U);
      if (run.bytes == 0) break;
      for (std::uint64_t at = 0; at < run.bytes;) {
        message_header h{};
        std::memcpy(&h, run.begin + at, sizeof h);
        CHECK(h.check == crc32c(run.begin + at + sizeof h, h.size - sizeof h));
        ids.push_back(h.id);
        at += h.size;
      }
    }
    queue->committed(position);
    return ids;
  }
  tail_header header{};
  std::vector<std::uint64_t> memory;
  std::atomic<std::uint64_t> bytes{0};
  std::unique_ptr<message_queue> queue;
  std::uint64_t position = 0;
};

const std::vector<unsigned char> filling(10000, 7);

message_parts capture(const capture_row& row, std::size_t values, std::size_t sketch = 0,
                      std::size_t histogram = 0) {
  message_parts m(message_kind::capture, row);
  m.add(field::values, filling.data(), values, keep::values);
  m.add(field::sketch, filling.data(), sketch, keep::sketch);
  m.add(field::histogram, filling.data(), histogram, keep::histogram);
  return m;
}

}  // namespace

TEST_CASE("the check of a message is the same by instruction and by table") {
  for (const std::size_t n : {0U, 1U, 7U, 8U, 9U, 1000U})
    CHECK(crc32c_fast(filling.data(), n) == crc32c(filling.data(), n));
  CHECK(crc32c("123456789", 9) == 0xe3069283U);
}

TEST_CASE("messages come out in order, whole, over many rounds of the ring") {
  ring r(4096);
  const event_row row{};
  std::uint64_t expected = 0;
  for (int round = 0; round < 100; ++round) {
    int pushed = 0;
    while (r.queue->push(message_parts(message_kind::event, row))) ++pushed;
    CHECK(pushed > 20);
    for (const std::uint64_t id : r.drain()) CHECK(id == ++expected);
  }
  CHECK(expected > 2000);
}

TEST_CASE("what does not fit is left out: values, then the sketch, then the histogram, then the row") {
  const capture_row row{};
  const auto kept_of = [&](ring& r) {
    int kept = -1;
    r.queue->push(capture(row, 2000, 1000, 100), [&](keep k) { kept = static_cast<int>(k); });
    return kept;
  };
  ring r(16384);
  int last = 3;
  std::vector<int> seen;
  for (int i = 0; i < 100; ++i) {
    const int kept = kept_of(r);
    CHECK(kept <= last);
    if (seen.empty() || seen.back() != kept) seen.push_back(kept);
    last = kept;
  }
  CHECK(seen.front() == 3);
  CHECK(seen.back() == -1);
  CHECK(std::count(seen.begin(), seen.end(), 0) == 1);
  r.drain();
  CHECK(kept_of(r) == 3);
}

TEST_CASE("a message larger than the queue loses what makes it so") {
  ring r(4096);
  const capture_row row{};
  keep kept = keep::row;
  CHECK(r.queue->push(capture(row, 9000, 200), [&](keep k) { kept = k; }));
  CHECK(kept == keep::sketch);
}

TEST_CASE("the budget is spent once") {
  ring r(4096);
  r.queue->limit(1000, 0);
  const event_row row{};
  int pushed = 0;
  for (int i = 0; i < 100; ++i) {
    pushed += r.queue->push(message_parts(message_kind::event, row)) ? 1 : 0;
    r.drain();
  }
  const message_parts one(message_kind::event, row);
  CHECK(pushed == static_cast<int>(1000 / one.size()));
}

TEST_CASE("a probe waits for room as long as it may, and no longer") {
  ring r(4096);
  const event_row row{};
  while (r.queue->push(message_parts(message_kind::event, row))) {
  }
  r.queue->limit(0, 20);
  const std::int64_t begin = monotonic_ns();
  CHECK_FALSE(r.queue->push(message_parts(message_kind::event, row)));
  CHECK(monotonic_ns() - begin >= 20000000);
  r.queue->limit(0, 60000);
  std::thread writer([&] { r.drain(); });
  CHECK(r.queue->push(message_parts(message_kind::event, row)));
  writer.join();
}

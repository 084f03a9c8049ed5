#include "numdiff/context.hpp"

#include <doctest/doctest.h>

#include <set>
#include <thread>
#include <vector>

#include "capture/support/recording.hpp"

using namespace numdiff::dtypes_short;
using numdiff::detail::capture_row;
using numdiff::detail::field;
using numdiff::detail::op_row;
using test::recording;

namespace {

void one_op(const char* name) {
  const float x[3] = {1, 2, 3};
  NUMDIFF_OP(op, name, copy, numdiff::dtypes(f32, f32, f32));
  NUMDIFF_INPUT(op, "x", numdiff::view(x, {3}));
}

}  // namespace

TEST_CASE("a context travels to another thread, which gets its own back") {
  recording r;
  {
    NUMDIFF_STEP(5);
    NUMDIFF_SCOPE("forward");
    const numdiff::context c = numdiff::current_context();
    std::thread([&] {
      NUMDIFF_SCOPE("worker");
      {
        NUMDIFF_CONTEXT(c);
        NUMDIFF_SCOPE("inner");
        one_op("there");
      }
      one_op("own");
    }).join();
  }
  one_op("outside");
  const auto ops = test::ops(r.finish());
  REQUIRE(ops.size() == 3);
  CHECK(ops[0].text(field::scope) == "forward.inner");
  CHECK(ops[0].as<op_row>().step == 5);
  CHECK(ops[1].text(field::scope) == "worker");
  CHECK(ops[1].as<op_row>().step == -1);
  CHECK(ops[2].text(field::scope).empty());
  CHECK(ops[0].as<op_row>().thread != ops[2].as<op_row>().thread);
}

TEST_CASE("a context outlives the scopes it was taken in, and an empty one replaces") {
  recording r;
  const numdiff::context empty = numdiff::current_context();
  numdiff::context c;
  {
    NUMDIFF_STEP(1);
    NUMDIFF_FACTOR("f", 3.0);
    c = numdiff::current_context();
    const numdiff::context copy = c;
    NUMDIFF_CONTEXT(empty);
    one_op("in the empty context");
  }
  {
    NUMDIFF_CONTEXT(c);
    one_op("in the old context");
  }
  const auto ops = test::ops(r.finish());
  REQUIRE(ops.size() == 2);
  CHECK(ops[0].as<op_row>().step == -1);
  CHECK(ops[1].as<op_row>().step == 1);
  CHECK(ops[1].text(field::factors) == R"({"f":3})");
}

TEST_CASE("contexts end in any order without harm") {
  recording r;
  {
    NUMDIFF_SCOPE("a");
    auto* inner = new numdiff::scoped(numdiff::scoped::name("b"));
    {
      NUMDIFF_SCOPE("c");
      delete inner;  // ends c with it
      one_op("after");
    }
    one_op("later");
  }
  one_op("last");
  const auto ops = test::ops(r.finish());
  REQUIRE(ops.size() == 3);
  CHECK(ops[0].text(field::scope) == "a");
  CHECK(ops[1].text(field::scope) == "a");
  CHECK(ops[2].text(field::scope).empty());
}

TEST_CASE("many threads record at once: every capture is there, with its op and a number of its own") {
  constexpr int threads = 4, each = 200;
  recording r(numdiff::level::sketch, [](numdiff::session_options& o) {
    o.wait_ms = 10000;
    o.queue_bytes = 256 << 10;
  });
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([] {
      for (int i = 0; i < each; ++i) {
        NUMDIFF_STEP(i);
        one_op("x");
      }
    });
  }
  for (std::thread& t : pool) t.join();
  CHECK(r.session().statistics().dropped_captures == 0);
  const auto all = r.finish();
  const auto ops = test::ops(all);
  const auto captures = test::captures(all);
  REQUIRE(ops.size() == threads * each);
  REQUIRE(captures.size() == threads * each);
  std::set<std::uint64_t> numbers, of_ops;
  for (const auto& m : ops) {
    numbers.insert(m.as<op_row>().seq);
    of_ops.insert(m.as<op_row>().seq);
  }
  for (const auto& m : captures) {
    numbers.insert(m.as<capture_row>().seq);
    CHECK(of_ops.count(m.as<capture_row>().op) == 1);
  }
  CHECK(numbers.size() == 2 * threads * each);
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i].header.id == all[i - 1].header.id + 1);
}

TEST_CASE("one op is captured by several threads at once") {
  recording r;
  {
    NUMDIFF_OP(op, "shared", copy, numdiff::dtypes(f32, f32, f32));
    std::vector<std::thread> pool;
    for (int t = 0; t < 4; ++t) {
      pool.emplace_back([&op] {
        const float x[2] = {1, 2};
        for (int i = 0; i < 50; ++i) NUMDIFF_INPUT(op, "x", numdiff::view(x, {2}));
      });
    }
    for (std::thread& t : pool) t.join();
  }
  const auto all = r.finish();
  CHECK(test::ops(all).size() == 1);
  CHECK(test::captures(all).size() == 200);
}

TEST_CASE("closing waits for probes that are under way") {
  for (int round = 0; round < 10; ++round) {
    recording r;
    std::atomic<bool> stop{false};
    std::thread busy([&] {
      while (!stop.load()) one_op("x");
    });
    while (r.session().statistics().captures < 20) std::this_thread::yield();
    const auto all = r.finish();
    stop.store(true);
    busy.join();
    CHECK(test::captures(all).size() >= 20);
  }
}

#include <doctest/doctest.h>

#include "capture/support/recording.hpp"
#include "numdiff/detail/runtime/versioned.hpp"

std::uint64_t old_program(const char* file, std::string& error);

using numdiff::detail::field;

TEST_CASE("a program built with the first headers records through today's runtime") {
  const test::temporary_directory directory;
  const std::string file = directory.file("run.messages");
  setenv("NUMDIFF_SINK", NUMDIFF_TEST_SINK_PATH, 1);
  std::string error;
  CHECK(old_program(file.c_str(), error) == 5);
  CHECK(error.empty());
  const auto all = test::read_messages(file);
  const auto op = test::ops(all).at(0);
  CHECK(op.text(field::scope) == "scope");
  CHECK(op.text(field::tags) == R"({"request":17})");
  CHECK(op.text(field::algorithm) == "a");
  CHECK(op.has(field::collective));
  const auto row = op.as<numdiff::detail::op_row>();
  CHECK((row.step == 1 && row.micro_batch == 2 && row.update == 4 && row.m == 1 && row.n == 2 && row.k == 3));
  const auto captures = test::captures(all);
  REQUIRE(captures.size() == 5);
  CHECK(captures[0].text(field::placement).find(R"("global":[2,6],"box":[[0,2],[3,6]])") !=
        std::string::npos);
  CHECK(captures[0].text(field::scaling) ==
        R"({"granularity":"tensor","direction":"decode","layout":"linear"})");
  CHECK(captures[1].as<numdiff::detail::capture_row>().pending_factor == 8);
  CHECK(captures[1].as<numdiff::detail::capture_row>().allocation_version == 4);
  CHECK(test::manifest_value(all, "key") == "value");
}

TEST_CASE("what an older struct lacks reads as zero, what a newer one has more is left alone") {
  numdiff_counts_v1 old = {}, space = {};
  old.dtype = 5;
  old.count = 7;
  old.signed_error = 3;
  old.struct_size = offsetof(numdiff_counts_v1, nan);
  const numdiff_counts_v1& seen = numdiff::detail::versioned(&old, space);
  CHECK((seen.dtype == 5 && seen.count == 7 && seen.signed_error == 0));
  old.struct_size = sizeof old + 100;
  const numdiff_counts_v1& newer = numdiff::detail::versioned(&old, space);
  CHECK((newer.count == 7 && newer.signed_error == 3));
  const numdiff_counts_v1* none = nullptr;
  CHECK(numdiff::detail::versioned(none, space).count == 0);
}

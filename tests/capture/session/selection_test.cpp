#include "numdiff/detail/runtime/selection.hpp"

#include <doctest/doctest.h>

using namespace numdiff;
using namespace numdiff::detail;

TEST_CASE("globs") {
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("decoder.layer.*", "decoder.layer.3.attn/scores"));
  CHECK(glob_matches("*/attn.scores", "decoder.layer.3/attn.scores"));
  CHECK(glob_matches("*layer.?/*", "decoder.layer.3/x"));
  CHECK(glob_matches("a*b*c", "a1b2b3c"));
  CHECK_FALSE(glob_matches("a*b*c", "a1b2b3"));
  CHECK_FALSE(glob_matches("decoder.layer.1", "decoder.layer.1/x"));
  CHECK_FALSE(glob_matches("", "x"));
}

TEST_CASE("the first pattern that matches decides the level of an op") {
  op_selection s;
  REQUIRE(s.parse("loss/*=tensors, *.bias/*=off, decoder.*", level::stats));
  CHECK(s.level_of("loss", "cross_entropy") == level::tensors);
  CHECK(s.level_of("decoder.0.bias", "add") == level::off);
  CHECK(s.level_of("decoder.0", "add") == level::stats);
  CHECK(s.level_of("encoder.0", "add") == level::off);
}

TEST_CASE("without patterns every op has the session's level") {
  op_selection s;
  REQUIRE(s.parse("", level::sketch));
  CHECK(s.level_of("", "x") == level::sketch);
}

TEST_CASE("a level that is none is refused") {
  op_selection s;
  CHECK_FALSE(s.parse("decoder.*=everything", level::sketch));
}

TEST_CASE("step ranges") {
  step_selection s;
  CHECK(s.selects(12345));
  REQUIRE(s.parse("3, 10:12, 100:200:50"));
  for (const std::int64_t step : {3, 10, 11, 100, 150}) CHECK(s.selects(step));
  for (const std::int64_t step : {0, 2, 4, 12, 99, 101, 200}) CHECK_FALSE(s.selects(step));
  CHECK(s.selects(-1));
  REQUIRE(s.parse("::20"));
  CHECK(s.selects(40));
  CHECK_FALSE(s.selects(41));
  for (const char* wrong : {"a", "5:2", "1:2:0", "-1", "1:2:3:4", "1-3", ":x"}) CHECK_FALSE(s.parse(wrong));
}

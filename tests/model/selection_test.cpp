#include "model/selection.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace numdiff;

TEST_CASE("steps are numbers and half-open ranges") {
  model::selection s;
  s.steps = model::parse_steps("3,10:12,20:30:5,100:");
  for (const std::int64_t step : {3, 10, 11, 20, 25, 100, 1000}) CHECK(s.has(step, "", ""));
  for (const std::int64_t step : {-1, 0, 4, 12, 21, 30, 99}) CHECK_FALSE(s.has(step, "", ""));
  s.steps = model::parse_steps(":2");
  CHECK(s.has(1, "", ""));
  CHECK_FALSE(s.has(2, "", ""));
  CHECK_FALSE(s.has(-1, "", ""));
  for (const char* bad : {"", "x", "3-4", "5:5", "5:4", "0:10:0", "1,,2", "1:2:3:4"})
    CHECK_THROWS_AS(model::parse_steps(bad), std::invalid_argument);
}

TEST_CASE("ranks are numbers and closed ranges") {
  CHECK(model::parse_ranks("0,2-4") == std::vector<std::int32_t>{0, 2, 3, 4});
  for (const char* bad : {"", "a", "-1", "4-2", "1-", "0-99999999"})
    CHECK_THROWS_AS(model::parse_ranks(bad), std::invalid_argument);
}

TEST_CASE("a scope selects what is below it, a pattern what it matches") {
  model::selection s;
  CHECK(s.empty());
  CHECK(s.has(0, "anything", "x"));
  s.scopes = {"decoder.layer.1"};
  CHECK(s.has(0, "decoder.layer.1", "x"));
  CHECK(s.has(0, "decoder.layer.1.attn", "x"));
  CHECK_FALSE(s.has(0, "decoder.layer.10", "x"));
  CHECK_FALSE(s.has(0, "decoder", "x"));
  s.scopes = {"*.attn", "head"};
  s.ops = {"q*"};
  CHECK(s.has(0, "decoder.layer.1.attn", "qkv"));
  CHECK_FALSE(s.has(0, "decoder.layer.1.attn", "scores"));
  CHECK(s.has(0, "head", "q"));
}

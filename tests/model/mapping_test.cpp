#include "model/mapping.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace numdiff;
using model::named;

namespace {

std::string name_of(const std::vector<model::mapping_line>& lines, named what, const char* name) {
  std::size_t used = 0;
  const std::string other = model::mapped(lines, what, name, used);
  CHECK((used == lines.size()) == (other == name));
  return other;
}

}  // namespace

TEST_CASE("a star of the reference stands for what that of the test run matched") {
  const auto lines = model::parse_mapping(
      "# reference          test\n"
      "scope decoder.layer.*.attn  model.blocks.*.self_attention\r\n"
      "\n"
      "scope\tdecoder\tmodel  # and all below\n"
      "op *.qkv in_*_proj\n"
      "tensor w weight\n"
      "tensor w*x* *_*");
  REQUIRE(lines.size() == 5);
  CHECK(lines[1].number == 4);
  CHECK(name_of(lines, named::scope, "model.blocks.12.self_attention") == "decoder.layer.12.attn");
  CHECK(name_of(lines, named::scope, "model.blocks.12.mlp") == "decoder.blocks.12.mlp");
  CHECK(name_of(lines, named::scope, "model") == "decoder");
  CHECK(name_of(lines, named::scope, "models") == "models");
  CHECK(name_of(lines, named::scope, "weight") == "weight");
  CHECK(name_of(lines, named::op, "in_a_b_proj") == "a_b.qkv");
  CHECK(name_of(lines, named::op, "in_proj") == "in_proj");
  CHECK(name_of(lines, named::tensor, "weight") == "w");
  CHECK(name_of(lines, named::tensor, "a_b_c") == "waxb_c");
  CHECK(name_of(lines, named::tensor, "x") == "x");
}

TEST_CASE("lines that say nothing are refused by number") {
  const char* bad[] = {"scope a", "scope a b c", "layer a b", "\nop a* b", "tensor a b*"};
  for (const char* text : bad) {
    CHECK_THROWS_AS(model::parse_mapping(text), std::invalid_argument);
  }
  CHECK_THROWS_WITH(model::parse_mapping("\nop a* b"), "line 2: give both names as many '*'");
  CHECK(model::parse_mapping("").empty());
}

TEST_CASE("a run gets the names of the reference, and every line is counted") {
  model::run run;
  run.ranks.resize(2);
  for (model::rank_data& rank : run.ranks) {
    const auto scope = rank.strings.add("model.0"), op = rank.strings.add("model.0"),
               tensor = rank.strings.add("x");
    model::op_row row{};
    row.scope = scope;
    row.name = op;
    rank.ops = {row, row};
    model::capture_row capture{};
    capture.name = tensor;
    rank.captures = {capture};
  }
  const auto uses =
      model::rename(run, model::parse_mapping("scope decoder.* model.*\nop linear y\ntensor x.in x"));
  CHECK(uses == std::vector<std::size_t>{2, 0, 2});
  for (const model::rank_data& rank : run.ranks) {
    for (const model::op_row& row : rank.ops) {
      CHECK(rank.strings[row.scope] == "decoder.0");
      CHECK(rank.strings[row.name] == "model.0");
    }
    CHECK(rank.strings[rank.captures[0].name] == "x.in");
  }
}

#include "model/path.hpp"

#include <doctest/doctest.h>

using namespace numdiff;

namespace {

model::op_row op(model::rank_data& r, std::uint64_t seq, const char* scope, const char* name) {
  model::op_row row{};
  row.seq = seq;
  row.step = 3;
  row.micro_batch = 0;
  row.phase = static_cast<std::uint16_t>(phase::forward);
  row.scope = r.strings.add(scope);
  row.name = r.strings.add(name);
  r.ops.push_back(row);
  return row;
}

}  // namespace

TEST_CASE("calls are numbered within context, scope and name") {
  model::rank_data r;
  op(r, 1, "a", "x");
  op(r, 2, "a", "y");
  op(r, 3, "a", "x");
  op(r, 4, "b", "x");
  CHECK(model::call_numbers(r) == std::vector<std::uint32_t>{0, 0, 1, 0});
  r.ops[2].step = 4;
  CHECK(model::call_numbers(r) == std::vector<std::uint32_t>{0, 0, 0, 0});
}

TEST_CASE("a tensor's path names its place, leaving out what is not known") {
  model::rank_data r;
  op(r, 1, "decoder.layer.3.attn", "scores");
  model::capture_row c{};
  c.op = 1;
  c.role = static_cast<std::uint16_t>(role::output);
  c.name = r.strings.add("y");
  CHECK(model::tensor_path(r, c, model::call_numbers(r)) ==
        "/step_3/mb_0/decoder.layer.3.attn/scores.0.forward/output.y");
  c.usage = static_cast<std::uint16_t>(usage::columnwise);
  r.ops[0].step = -1;
  r.ops[0].micro_batch = -1;
  r.ops[0].scope = 0;
  r.ops[0].phase = 0;
  CHECK(model::tensor_path(r, c, model::call_numbers(r)) == "/scores.0/output.y.columnwise");
  c.op = 0;
  c.usage = 0;
  c.role = 0;
  CHECK(model::tensor_path(r, c, model::call_numbers(r)) == "/tensor.y");
  c.op = 99;  // an op that was dropped
  CHECK(model::tensor_path(r, c, model::call_numbers(r)) == "/tensor.y");
}

TEST_CASE("patterns match with * and ?") {
  CHECK(model::matches("decoder.*", "decoder.layer.3"));
  CHECK(model::matches("*layer.?", "decoder.layer.3"));
  CHECK(model::matches("", ""));
  CHECK(model::matches("*", ""));
  CHECK_FALSE(model::matches("", "x"));
  CHECK_FALSE(model::matches("layer", "decoder.layer"));
  CHECK_FALSE(model::matches("?", ""));
  CHECK(model::matches("*a*b", "xaxbxab"));
}

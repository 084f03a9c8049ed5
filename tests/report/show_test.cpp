#include "report/show.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/tensor.hpp"

using namespace numdiff;

namespace {

// One rank, two steps, one op each with one output of 4 values; histogram 2^-1: 3, 2^0: 1.
model::run small_run() {
  model::run run;
  run.path = "a.h5";
  run.run_id = "r1";
  model::rank_data rank;
  rank.closed = true;
  rank.manifest["seed"] = {"7", manifest_class::numeric};
  model::shape_row shape{};
  shape.rank = 2;
  shape.extent[0] = shape.extent[1] = 2;
  rank.shapes = {{}, shape};
  for (const int byte : {1, 2, 3, 1}) rank.histograms.push_back(static_cast<std::byte>(byte));
  for (std::uint64_t step = 0; step < 2; ++step) {
    model::op_row op{};
    op.seq = 1 + 2 * step;
    op.step = static_cast<std::int64_t>(step);
    op.update = op.micro_batch = -1;
    op.phase = static_cast<std::uint16_t>(phase::forward);
    op.name = rank.strings.add("fc");
    op.scope = rank.strings.add("layer.0");
    op.kind = rank.strings.add("matmul");
    op.input_dtype = op.output_dtype = static_cast<std::uint16_t>(dtype::bf16);
    op.accumulate_dtype = static_cast<std::uint16_t>(dtype::f32);
    rank.ops.push_back(op);
    model::capture_row c{};
    c.seq = 2 + 2 * step;
    c.op = op.seq;
    c.count = 4;
    c.nan = static_cast<std::int64_t>(step);
    c.first_nonfinite = step == 1 ? 2 : -1;
    c.amax = c.maximum = 1.5;
    c.minimum = 0.5;
    c.smallest = 0.5;
    c.sum = 3;
    c.sum_sq = 2.25 + 3 * 0.25;
    c.pending_factor = 1;
    c.payload = c.sketch = -1;
    c.histogram = 0;
    c.histogram_bytes = 4;
    c.shape = 1;
    c.name = rank.strings.add("y");
    c.role = static_cast<std::uint16_t>(role::output);
    c.dtype = static_cast<std::uint16_t>(dtype::bf16);
    rank.captures.push_back(c);
  }
  run.ranks.push_back(std::move(rank));
  return run;
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a tensor is named by path, by the end of its path, or by name") {
  const model::run run = small_run();
  for (const char* name :
       {"/step_0/layer.0/fc.0.forward/output.y", "layer.0/fc.0.forward/output.y", "/step_0/*", "step_0/*"}) {
    REQUIRE_MESSAGE(report::select_captures(run, {}, name).size() >= 1, name);
  }
  CHECK(report::select_captures(run, {}, "/step_0/layer.0/fc.0.forward/output.y").size() == 1);
  CHECK(report::select_captures(run, {}, "output.y").size() == 2);
  CHECK(report::select_captures(run, {}, "y").size() == 2);
  CHECK(report::select_captures(run, {}, "").size() == 2);
  CHECK(report::select_captures(run, {}, "0/fc.*").size() == 2);
  CHECK(report::select_captures(run, {}, "put.y").empty());
  model::selection select;
  select.steps = model::parse_steps("1");
  CHECK(report::select_captures(run, select, "").size() == 1);
  select.ranks = {3};
  CHECK(report::select_captures(run, select, "").empty());
}

TEST_CASE("a run shows manifest, ops and captures, bounded") {
  report::style s;
  s.top = 1;
  const std::string text = report::show_run(small_run(), {}, s);
  CHECK(has(text, "run r1, 1 rank of 1"));
  CHECK(has(text, "rank 0: 2 ops, 2 captures, closed properly"));
  CHECK(has(text, "seed"));
  CHECK(has(text, "Ops (2)"));
  CHECK(has(text, "     0  matmul  bf16>f32>bf16  /step_0/layer.0/fc.0.forward\n"));
  CHECK_FALSE(has(text, "/step_1/"));
  CHECK(has(text, "Captures (2)"));
  CHECK(has(text, "  and 1 more\n"));
}

TEST_CASE("what was lost in recording is said") {
  model::run run = small_run();
  run.ranks[0].closed = false;
  run.ranks[0].cut_rows = 2;
  run.ranks[0].drops.values = 1234;
  run.warnings = {"the file of rank 1 is missing"};
  const std::string text = report::show_run(run, {}, {});
  CHECK(has(text, "not closed, 2 rows cut off, 1,234 values dropped"));
  CHECK(has(text, "warning: the file of rank 1 is missing"));
}

TEST_CASE("a tensor shows statistics and histogram") {
  const model::run run = small_run();
  const std::string text = report::show_tensors(report::select_captures(run, {}, "y"), {});
  CHECK(has(text, "bf16 [2x2]"));
  CHECK(has(text, "mean 0.75, rms 0.8660254037844386"));
  CHECK(has(text, "4, 1 NaN; first non-finite at 2"));
  CHECK(has(text, "2^-1    ######################################## 3\n"));
  CHECK(has(text, "2^0     ##############                           1\n"));
  CHECK(has(text, "not kept at this level"));
}

TEST_CASE("moments leave out what the sums left out") {
  model::capture_row c{};
  c.count = 10;
  c.hidden = 1;
  c.nan = 1;
  c.positive_infinity = 1;
  c.maximum_negative = 2;
  c.dtype = static_cast<std::uint16_t>(dtype::bf16);
  c.sum = 5;
  c.sum_sq = 20;
  c.sum_exponent = 1;
  CHECK(report::moments_of(c).count == 5);
  CHECK(report::moments_of(c).mean == 2);
  CHECK(report::moments_of(c).rms == 4);
  c.dtype = static_cast<std::uint16_t>(dtype::f8e4m3fn);  // narrow formats reach their maximum in earnest
  CHECK(report::moments_of(c).count == 7);
  c.count = 3;
  CHECK(std::isnan(report::moments_of(c).mean));
}

TEST_CASE("the JSON of a run") {
  const auto j = nlohmann::json::parse(report::show_json(small_run(), {}, "", {}));
  CHECK(j["schema"] == "numdiff-show/1");
  CHECK(j["ops"].size() == 2);
  CHECK(j["captures"].size() == 2);
  CHECK(j["captures"][0]["shape"] == nlohmann::json{2, 2});
  CHECK(j["captures"][1]["nan"] == 1);
  CHECK(j["ranks"][0]["manifest"]["seed"] == "7");
  const auto one = nlohmann::json::parse(report::show_json(small_run(), {}, "/step_1/*", {}));
  CHECK(one["captures"].size() == 1);
  CHECK(one["captures"][0]["histogram"]["first"] == -1);
  CHECK(one["captures"][0]["histogram"]["counts"] == nlohmann::json{3, 1});
}

TEST_CASE("offsets that point nowhere do no harm") {
  model::run run = small_run();
  model::capture_row& c = run.ranks[0].captures[0];
  c.histogram = 1000;
  c.shape = 99;
  c.name = c.op == 0 ? 0 : 4000;
  run.ranks[0].captures[1].op = 777;
  CHECK(report::show_tensors(report::select_captures(run, {}, ""), {}).size() > 0);
  CHECK(report::show_json(run, {}, "", {}).size() > 0);
}

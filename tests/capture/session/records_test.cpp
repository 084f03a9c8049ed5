#include "numdiff/numdiff.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "capture/support/recording.hpp"

using namespace numdiff::dtypes_short;
using numdiff::level;
using numdiff::detail::capture_row;
using numdiff::detail::cast_row;
using numdiff::detail::collective_row;
using numdiff::detail::event_row;
using numdiff::detail::field;
using numdiff::detail::message_kind;
using numdiff::detail::op_row;
using test::recording;

TEST_CASE("an op knows its context and its settings") {
  recording r;
  r.session().set_update(7);
  {
    NUMDIFF_STEP(3);
    NUMDIFF_MICRO_BATCH(1);
    NUMDIFF_PHASE(backward);
    NUMDIFF_SCOPE("decoder");
    NUMDIFF_SCOPE("layer.3");
    NUMDIFF_TAG("request", 17);
    NUMDIFF_TAG("user", "a \"b\"");
    NUMDIFF_FACTOR("loss_scale", 1024.0);
    NUMDIFF_FACTOR("accumulation", 0.25);
    NUMDIFF_OP(op, "attn.scores", matmul,
               numdiff::dtypes(e4m3, e5m2, numdiff::truncating(22), bf16)
                   .mnk(2, 3, 4)
                   .batch(5)
                   .split(2, f32)
                   .promote_every(128)
                   .rounding(numdiff::rounding::stochastic)
                   .order(numdiff::reduction_order::tree)
                   .algorithm("kernel_a")
                   .rng("philox", 11, 12)
                   .workspace(13)
                   .flops(14)
                   .bytes(15)
                   .device(1));
    CHECK(op.recording());
  }
  const auto all = r.finish();
  REQUIRE(test::ops(all).size() == 1);
  const auto m = test::ops(all)[0];
  const auto row = m.as<op_row>();
  CHECK(row.seq == 1);
  CHECK(row.step == 3);
  CHECK(row.micro_batch == 1);
  CHECK(row.update == 7);
  CHECK(row.phase == static_cast<int>(numdiff::phase::backward));
  CHECK(m.text(field::name) == "attn.scores");
  CHECK(m.text(field::kind) == "matmul");
  CHECK(m.text(field::scope) == "decoder.layer.3");
  CHECK(m.text(field::tags) == R"({"request":17,"user":"a \"b\""})");
  CHECK(m.text(field::factors) == R"({"loss_scale":1024,"accumulation":0.25})");
  CHECK(m.text(field::algorithm) == "kernel_a");
  CHECK(m.text(field::rng) == "philox");
  CHECK(row.input_dtype == static_cast<int>(numdiff::dtype::f8e4m3fn));
  CHECK(row.input2_dtype == static_cast<int>(numdiff::dtype::f8e5m2));
  CHECK(row.accumulate_dtype == static_cast<int>(numdiff::dtype::f32));
  CHECK(row.accumulate_bits == 13);
  CHECK(row.accumulate_rounding == static_cast<int>(numdiff::rounding::toward_zero));
  CHECK(row.output_dtype == static_cast<int>(numdiff::dtype::bf16));
  CHECK(row.output_rounding == static_cast<int>(numdiff::rounding::stochastic));
  CHECK(row.order == static_cast<int>(numdiff::reduction_order::tree));
  CHECK((row.m == 2 && row.n == 3 && row.k == 4 && row.batch == 5));
  CHECK(
      (row.split == 2 && row.partial_dtype == static_cast<int>(numdiff::dtype::f32) && row.promotion == 128));
  CHECK((row.rng_seed == 11 && row.rng_offset == 12 && row.workspace == 13 && row.flops == 14 &&
         row.bytes == 15));
  CHECK((row.device == 1 && row.thread >= 1 && row.t_begin > 0));
  const auto events = test::of_kind(all, message_kind::event);
  REQUIRE(events.size() == 1);
  CHECK(events[0].as<event_row>().kind == static_cast<int>(numdiff::event_kind::op_ended));
  CHECK(events[0].as<event_row>().id0 == 1);
  CHECK(events[0].as<event_row>().time >= row.t_begin);
}

TEST_CASE("outside any context nothing is told") {
  recording r;
  { NUMDIFF_OP(op, "x", add, numdiff::dtypes(f32, f32, f32)); }
  const auto m = test::ops(r.finish()).at(0);
  const auto row = m.as<op_row>();
  CHECK((row.step == -1 && row.micro_batch == -1 && row.update == -1 && row.phase == 0 && row.device == -1));
  CHECK((row.m == -1 && row.reduction_length == -1 && row.flops == -1 && row.workspace == -1));
  CHECK(m.fields.size() == 2);
}

TEST_CASE("captures know their op, role, name and number") {
  recording r;
  const float x[6] = {1, 2, 3, 4, 5, -6};
  {
    NUMDIFF_FACTOR("loss_scale", 8);
    NUMDIFF_OP(op, "y", scale, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "x", numdiff::view(x, {2, 3}).axes("t d").usage(numdiff::usage::rowwise));
    NUMDIFF_GRADIENT(op, "dx", numdiff::view(x, {3, 2}).transposed().allocation(9, 8, 24, 2));
    NUMDIFF_OUTPUT(op, "y", numdiff::view(x, {6}).carries_factors());
    NUMDIFF_SCALAR(op, "factor", 0.5);
    NUMDIFF_SCALAR(op, "n", 3);
  }
  const auto all = test::captures(r.finish());
  REQUIRE(all.size() == 5);
  const auto input = all[0].as<capture_row>();
  CHECK((input.op == 1 && input.seq == 2 && input.count == 6));
  CHECK(input.role == static_cast<int>(numdiff::role::input));
  CHECK(input.usage == static_cast<int>(numdiff::usage::rowwise));
  CHECK((input.pending_factor == 1 && input.amax == 6 && input.sum == 9 && input.dropped == 0));
  CHECK(all[0].text(field::name) == "x");
  CHECK(all[0].text(field::axes) == "t d");
  const auto gradient = all[1].as<capture_row>();
  CHECK(gradient.pending_factor == 8);
  CHECK((gradient.allocation == 9 && gradient.allocation_offset == 8 && gradient.allocation_extent == 24 &&
         gradient.allocation_version == 2));
  numdiff::detail::shape_row shape{};
  std::memcpy(&shape, all[1].fields.at(field::shape).data(), sizeof shape);
  CHECK((shape.rank == 2 && shape.extent[0] == 2 && shape.extent[1] == 3 && shape.stride[0] == 1 &&
         shape.stride[1] == 2));
  CHECK(all[2].as<capture_row>().pending_factor == 8);
  CHECK(all[3].as<capture_row>().dtype == static_cast<int>(numdiff::dtype::f64));
  CHECK(all[3].as<capture_row>().sum == 0.5);
  CHECK(all[4].as<capture_row>().dtype == static_cast<int>(numdiff::dtype::i32));
}

TEST_CASE("levels keep what they say") {
  std::vector<float> x(1000, 1.25F);
  const auto capture_at = [&](level at, std::int64_t count) {
    recording r(at);
    {
      NUMDIFF_OP(op, "y", copy, numdiff::dtypes(f32, f32, f32));
      NUMDIFF_INPUT(op, "x", numdiff::view(x.data(), {count}));
    }
    return test::captures(r.finish()).at(0);
  };
  const auto stats = capture_at(level::stats, 1000);
  CHECK((stats.has(field::histogram) && !stats.has(field::sketch) && !stats.has(field::values)));
  const auto sketch = capture_at(level::sketch, 1000);
  CHECK((sketch.has(field::histogram) && sketch.has(field::sketch) && !sketch.has(field::values)));
  const auto tensors = capture_at(level::tensors, 1000);
  CHECK((tensors.has(field::sketch) && tensors.fields.at(field::values).size() == 4000));
  // Small tensors say everything by their values.
  const auto small = capture_at(level::sketch, 256);
  CHECK((!small.has(field::sketch) && small.fields.at(field::values).size() == 1024));
  const auto larger = capture_at(level::sketch, 257);
  CHECK((larger.has(field::sketch) && !larger.has(field::values)));
  CHECK(stats.as<capture_row>().digest0 == tensors.as<capture_row>().digest0);
}

TEST_CASE("strided, transposed, expanded, empty and scalar views, and every kind of element") {
  recording r(level::tensors);
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::complex<double> c[2] = {{1, 2}, {3, 4}};
  const bool b[3] = {true, false, true};
  const std::int64_t i[2] = {INT64_MAX, INT64_MIN};
  const numdiff::bf16_t h[2] = {{0x3f80}, {0x4000}};
  const unsigned char nibbles[2] = {0x21, 0x43};
  {
    NUMDIFF_OP(op, "views", copy, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "strided", numdiff::view(x.data(), {2, 2}).strides({6, 2}));
    NUMDIFF_INPUT(op, "transposed", numdiff::view(x.data(), {3, 4}).transposed());
    NUMDIFF_INPUT(op, "expanded", numdiff::view(x.data() + 5, {3}).strides({0}));
    NUMDIFF_INPUT(op, "empty", numdiff::view(static_cast<const float*>(nullptr), {3, 0}));
    NUMDIFF_INPUT(op, "scalar", numdiff::view(x.data() + 7, {}));
    NUMDIFF_INPUT(op, "backwards", numdiff::view(x.data() + 11, {12}).strides({-1}));
    NUMDIFF_INPUT(op, "complex", numdiff::view(c, {2}));
    NUMDIFF_INPUT(op, "bool", numdiff::view(b, {3}));
    NUMDIFF_INPUT(op, "integer", numdiff::view(i, {2}));
    NUMDIFF_INPUT(op, "bf16", numdiff::view(h, {2}));
    NUMDIFF_INPUT(op, "packed", numdiff::view(nibbles, numdiff::dtype::u4, {4}).packed());
  }
  CHECK(r.session().statistics().refused == 0);
  const auto all = test::captures(r.finish());
  REQUIRE(all.size() == 11);
  const auto values = [&](std::size_t n) {
    std::vector<float> out(static_cast<std::size_t>(all[n].as<capture_row>().count));
    if (!out.empty()) std::memcpy(out.data(), all[n].fields.at(field::values).data(), out.size() * 4);
    return out;
  };
  CHECK(values(0) == std::vector<float>{0, 2, 6, 8});
  CHECK(values(1) == std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(values(2) == std::vector<float>{5, 5, 5});
  CHECK(all[3].as<capture_row>().count == 0);
  CHECK(values(4) == std::vector<float>{7});
  CHECK(values(5).front() == 11);
  CHECK(all[6].as<capture_row>().count == 4);
  CHECK(all[6].as<capture_row>().sum == 10);
  CHECK(all[7].as<capture_row>().sum == 2);
  CHECK(all[8].as<capture_row>().count == 2);
  CHECK(all[9].as<capture_row>().sum == 3);
  CHECK(all[10].as<capture_row>().sum == 10);
}

TEST_CASE("views that cannot be are refused and counted") {
  recording r;
  const float x[4] = {};
  {
    NUMDIFF_OP(op, "wrong", copy, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "rank", numdiff::view(x, {1, 1, 1, 1, 1, 1, 1, 1, 1}));
    NUMDIFF_INPUT(op, "strides", numdiff::view(x, {2, 2}).strides({1}));
    NUMDIFF_INPUT(op, "null", numdiff::view(static_cast<const float*>(nullptr), {2}));
    NUMDIFF_INPUT(op, "negative", numdiff::view(x, {-1}));
    NUMDIFF_INPUT(op, "transposed", numdiff::view(x, {4}).transposed());
    NUMDIFF_INPUT(op, "dtype", numdiff::view(x, numdiff::dtype::unknown, {4}));
    NUMDIFF_INPUT(op, "huge", numdiff::view(x, {INT64_MAX, 2}));
    NUMDIFF_INPUT(op, "packed", numdiff::view(x, {4}).packed());
    NUMDIFF_INPUT(op, "shard", numdiff::view(x, {4}).shard("tp", 1));
    NUMDIFF_INPUT(op, "box", numdiff::view(x, {4}).box(0, 2, 5));
    NUMDIFF_INPUT(op, "device", numdiff::view(x, {4}).on(nullptr));
  }
  CHECK(r.session().statistics().refused == 11);
  CHECK(test::captures(r.finish()).empty());
}

TEST_CASE("a cast counts what the source was") {
  recording r;
  const float source[4] = {1, 1e6F, 1e-9F, 0};
  const numdiff::f16_t destination[4] = {{0x3c00}, {0x7c00}, {0}, {0}};
  {
    NUMDIFF_OP(op, "x16", cast, numdiff::dtypes(f32, f32, f16));
    NUMDIFF_CAST(op, "x", numdiff::view(source, {4}), numdiff::view(destination, {4}));
    NUMDIFF_CAST(op, "shape", numdiff::view(source, {2, 2}), numdiff::view(destination, {4}));
  }
  CHECK(r.session().statistics().refused == 1);
  const auto all = test::captures(r.finish());
  REQUIRE(all.size() == 1);
  cast_row row{};
  std::memcpy(&row, all[0].fields.at(field::cast).data(), sizeof row);
  CHECK((row.count == 4 && row.overflowing == 1 && row.flushed == 1));
  CHECK(row.source_dtype == static_cast<int>(numdiff::dtype::f32));
  CHECK(all[0].as<capture_row>().role == static_cast<int>(numdiff::role::output));
}

TEST_CASE("counters say what never reached memory") {
  recording r;
  numdiff::cast_counter c(numdiff::dtype::f8e4m3fn);
  for (const double v :
       {1.0, 448.0, 464.0, 465.0, -1000.0, 0.0, 0x1p-7, 0x1p-10, 0x1.1p-10, double(NAN), double(INFINITY)}) {
    c.before_cast(v);
  }
  {
    NUMDIFF_OP(op, "y8", cast, numdiff::dtypes(f32, f32, e4m3));
    NUMDIFF_COUNTS(op, "acc", c);
  }
  const auto m = test::captures(r.finish()).at(0);
  cast_row row{};
  std::memcpy(&row, m.fields.at(field::cast).data(), sizeof row);
  CHECK(row.count == 11);
  CHECK(row.beyond_maximum == 3);
  CHECK(row.overflowing == 2);  // 464 is halfway to a code that is not there, and goes to the even one
  CHECK(row.flushed == 1);
  CHECK(row.subnormal == 2);
  CHECK((row.nan == 1 && row.infinite == 1 && row.amax == 1000));
}

TEST_CASE("a collective is told before the captures of its op, or after") {
  recording r;
  const float x[2] = {1, 2};
  const auto told = numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::sum)
                        .communicator("tp")
                        .sequence(5)
                        .size(2)
                        .ranks({3, 1})
                        .count(2)
                        .wire(bf16)
                        .algorithm("ring");
  {
    NUMDIFF_OP(op, "before", all_reduce, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_COLLECTIVE(op, told);
    NUMDIFF_INPUT(op, "x", numdiff::view(x, {2}));
  }
  {
    NUMDIFF_OP(op, "after", all_reduce, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "x", numdiff::view(x, {2}));
    NUMDIFF_COLLECTIVE(op, told);
  }
  const auto all = r.finish();
  const auto ops = test::ops(all);
  REQUIRE(ops.size() == 2);
  collective_row row{};
  std::memcpy(&row, ops[0].fields.at(field::collective).data(), sizeof row);
  CHECK((row.sequence == 5 && row.size == 2 && row.count == 2 && row.peer == -1));
  CHECK(row.wire_dtype == static_cast<int>(numdiff::dtype::bf16));
  CHECK(ops[0].text(field::communicator) == "tp");
  CHECK(ops[0].text(field::ranks) == "[3,1]");
  CHECK(ops[0].text(field::collective_algorithm) == "ring");
  CHECK_FALSE(ops[1].has(field::collective));
  const auto late = test::of_kind(all, message_kind::collective);
  REQUIRE(late.size() == 1);
  CHECK(late[0].as<collective_row>().op == ops[1].as<op_row>().seq);
  CHECK(late[0].as<collective_row>().sequence == 5);
  CHECK(late[0].text(field::ranks) == "[3,1]");
}

TEST_CASE("tensors outside ops, skipped steps, and the selection") {
  recording r(level::sketch, [](numdiff::session_options& o) {
    o.select = "kept*";
    o.steps = "1:2";
  });
  const float x[2] = {1, 2};
  for (int step = 0; step < 3; ++step) {
    NUMDIFF_STEP(step);
    NUMDIFF_SCOPE("kept");
    NUMDIFF_TENSOR("logits", numdiff::view(x, {2}));
    NUMDIFF_OP(kept, "a", copy, numdiff::dtypes(f32, f32, f32));
    CHECK(kept.recording() == (step == 1));
    NUMDIFF_SKIP_STEP();
  }
  {
    NUMDIFF_SCOPE("other");
    NUMDIFF_OP(dropped, "a", copy, numdiff::dtypes(f32, f32, f32));
    CHECK_FALSE(dropped.recording());
  }
  const auto all = r.finish();
  REQUIRE(test::ops(all).size() == 2);
  CHECK(test::ops(all)[0].text(field::kind) == "tensor");
  CHECK(test::ops(all)[0].text(field::name) == "logits");
  CHECK(test::captures(all).at(0).as<capture_row>().role == static_cast<int>(numdiff::role::none));
  int skipped = 0;
  for (const auto& e : test::of_kind(all, message_kind::event)) {
    skipped += e.as<event_row>().kind == static_cast<int>(numdiff::event_kind::skipped_step);
  }
  CHECK(skipped == 3);
}

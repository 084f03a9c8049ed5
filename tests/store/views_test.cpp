#include "store/views.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>

#include "messages.hpp"
#include "store/load.hpp"
#include "store/repair.hpp"
#include "store/run_writer.hpp"
#include "store/view_names.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using detail::field;
using detail::message_kind;

namespace {

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> block{};
  while (const std::size_t n = std::fread(block.data(), 1, block.size(), pipe)) out.append(block.data(), n);
  CHECK(::pclose(pipe) == 0);
  return out;
}

bytes tensor(std::uint64_t seq, std::uint64_t op, std::string_view name, role r, dtype type,
             const std::vector<std::int64_t>& extents, std::span<const std::byte> codes,
             std::string_view scaling = "") {
  detail::capture_row row{};
  detail::shape_row shape{};
  row.seq = seq;
  row.op = op;
  row.role = static_cast<std::uint16_t>(r);
  row.dtype = static_cast<std::uint16_t>(type);
  row.count = 1;
  row.amax = 2.5;
  row.digest0 = seq;
  for (const std::int64_t e : extents) {
    shape.extent[shape.rank++] = e;
    row.count *= e;
  }
  message m(message_kind::capture, seq, row);
  m.text(field::name, name).row(field::shape, shape).field(field::values, codes);
  if (!scaling.empty()) {
    static const std::vector<float> scale = {0.5F};
    row.scale_dtype = static_cast<std::uint16_t>(dtype::f32);
    return message(message_kind::capture, seq, row)
        .text(field::name, name)
        .row(field::shape, shape)
        .text(field::scaling, scaling)
        .field(field::scale_values, raw(scale))
        .field(field::values, codes)
        .done();
  }
  return m.done();
}

void write_run(store::run_writer& writer) {
  detail::op_row op{};
  op.seq = 1;
  op.step = 3;
  op.phase = static_cast<std::uint16_t>(phase::forward);
  writer.write(message(message_kind::op, 1, op)
                   .text(field::name, "proj")
                   .text(field::scope, "decoder.layer.3")
                   .done());
  const std::vector<std::uint16_t> bf16 = {0x3f80, 0xc020, 0x7f80, 0x0001, 0x4049, 0x8000};
  writer.write(tensor(2, 1, "y", role::output, dtype::bf16, {2, 3}, raw(bf16)));
  const std::vector<std::uint8_t> e4m3 = {0x38, 0x7e, 0x78, 0xb8, 0x01};
  writer.write(
      tensor(3, 1, "y8", role::output, dtype::f8e4m3fn, {5}, raw(e4m3), R"({"granularity":"tensor"})"));
  writer.write(tensor(4, 1, "y8", role::output, dtype::f8e4m3fn, {5}, raw(e4m3)));
  const std::vector<double> eps = {1e-5};
  writer.write(tensor(5, 1, "eps", role::scalar, dtype::f64, {}, raw(eps)));
  writer.write(tensor(6, 0, "empty", role::none, dtype::f32, {0, 4}, {}));
  const std::vector<float> complex = {1, 2, 3, 4};
  detail::capture_row row{};
  detail::shape_row shape{};
  shape.rank = 2;
  row.seq = 7;
  row.count = 4;
  row.digest0 = 7;
  row.dtype = static_cast<std::uint16_t>(dtype::c64);
  shape.extent[0] = 2;
  shape.extent[1] = 2;
  writer.write(message(message_kind::capture, 7, row)
                   .text(field::name, "z")
                   .row(field::shape, shape)
                   .field(field::values, raw(complex))
                   .done());
  writer.commit(7);
}

}  // namespace

TEST_CASE("h5py reads statistics from the tables and tensors by name from the views") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  store::run_writer writer(path, {"r", 1, 0, 0, false});
  write_run(writer);
  writer.close();
  const auto views = store::make_views(path);
  REQUIRE(views.size() == 1);
  CHECK(views[0].path == dir / "run_a.views.h5");
  CHECK(views[0].tensors == 6);
  const std::string op = "/step_3/mb_0/decoder.layer.3/proj.0.forward/";
  const std::string text =
      output_of("cd / && /usr/bin/python3 " NUMDIFF_TEST_SCRIPT " " + path + " " + op + "output.y " + op +
                "output.y8 '" + op + "output.y8#2' " + op + "scalar.eps /tensor.empty");
  INFO(text);
  const auto says = [&](const std::string& line) { return text.find(line) != std::string::npos; };
  CHECK(says("y count 6 amax 2.5 nan 0\n"));
  CHECK(says("eps count 1"));
  CHECK(says(op + "output.y bf16 (2, 3) [[1.0, -2.5, Infinity], ["));
  CHECK(says("3.140625, -0.0]]"));
  CHECK(says(op + "output.y8 f8e4m3fn (5,) [1.0, 448.0, 256.0, -1.0, 0.001953125]"));
  CHECK(says(R"(scaling {"granularity":"tensor"} scales [0.5])"));
  CHECK(says(op + "output.y8#2 f8e4m3fn"));
  CHECK(says(op + "scalar.eps f64 (1,) [1e-05]"));
  CHECK(says("/tensor.empty f32 (0, 4) []"));
  const std::string complex =
      output_of("/usr/bin/python3 -c 'import h5py,sys; print(h5py.File(sys.argv[1])[\"tensor.z\"][...])' " +
                views[0].path);
  CHECK(complex == "[1.+2.j 3.+4.j]\n");
}

TEST_CASE("a new run has no views of the older one") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  {
    store::run_writer writer(path, {"r", 1, 0, 0, false});
    write_run(writer);
    writer.close();
    store::make_views(path);
  }
  store::run_writer writer(path, {"s", 1, 0, 0, false});
  CHECK_FALSE(std::filesystem::exists(dir / "run_a.views.h5"));
  writer.close();
}

TEST_CASE("views of a run that was not closed need a repair first") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  store::run_writer writer(path, {"r", 1, 0, 0, false});
  write_run(writer);
  writer.abandon();
  CHECK_THROWS_WITH_AS(store::make_views(path),
                       (path + ": was not closed; run `numdiff repair` on it first").c_str(), store::error);
  CHECK(store::repair(path).at(0).written);
  CHECK(store::make_views(path).at(0).tensors == 6);
}

TEST_CASE("names of views") {
  store::view_names names;
  CHECK(names.distinct("/a/input.x") == "/a/input.x");
  CHECK(names.distinct("/a/input.x") == "/a/input.x#2");
  CHECK(names.distinct("/a/input.x#2") == "/a/input.x#2#2");
  CHECK(names.distinct("/a/input.x") == "/a/input.x#3");
  CHECK(names.distinct("//a/.//input.x") == "/a/input.x#4");
  CHECK(names.distinct("/a/input.x/y") == "/a/input.x#5/y");
  CHECK(names.distinct("/a/input.x/z") == "/a/input.x#5/z");
  CHECK(names.distinct("/a") == "/a#2");
  CHECK(names.distinct("/a/input.x", ".scales") == "/a/input.x.scales");
  const std::string euros = "/" + std::string(999, 'a') + "\xe2\x82\xac";
  CHECK(names.distinct(euros) == "/" + std::string(999, 'a'));
  CHECK(names.distinct(euros, ".scales") == "/" + std::string(999, 'a') + ".scales");
}

TEST_CASE("whatever the program calls its tensors, every one has a view") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  store::run_writer writer(path, {"r", 1, 0, 0, false});
  std::uint64_t seq = 0;
  const std::vector<double> one = {1};
  const std::string huge(100000, 'h');
  for (const std::string& name :
       {std::string("x"), std::string("x/y"), std::string("x"), std::string("."), std::string("/"),
        std::string("//x"), std::string(""), std::string("\n\xff"), huge, huge}) {
    detail::op_row op{};
    op.seq = ++seq;
    op.step = op.micro_batch = -1;
    writer.write(
        message(message_kind::op, op.seq, op).text(field::name, name).text(field::scope, name).done());
    const std::uint64_t capture = ++seq;
    writer.write(tensor(capture, op.seq, name, role::output, dtype::f64, {}, raw(one)));
    writer.write(tensor(++seq, op.seq, name, role::output, dtype::f64, {}, raw(one), huge));
  }
  writer.commit(seq);
  writer.close();
  CHECK(store::make_views(path).at(0).tensors == 20);
}

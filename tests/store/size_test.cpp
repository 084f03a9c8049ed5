#include <doctest/doctest.h>

#include <cmath>

#include "messages.hpp"
#include "store/load.hpp"
#include "store/run_writer.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using detail::field;
using detail::message_kind;

// What a training step sends at level sketch: a third of the messages are ops, every tensor differs,
// one in eight is small enough to keep its values, one in four was cast, and names come back each step.
TEST_CASE("a capture at level sketch costs at most 3 KB at 500 captures a file") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  store::run_writer writer(path, {"0123456789abcdef", 1, 0, 0});
  for (int i = 0; i < 40; ++i)
    writer.write(message(message_kind::manifest, 0, detail::manifest_row{})
                     .text(field::key, "libraries." + std::to_string(i))
                     .text(field::value, "/usr/lib/x86_64-linux-gnu/lib" + std::to_string(i) + ".so.1.2.3")
                     .done());
  constexpr std::uint64_t captures = 500;
  std::uint64_t seq = 0;
  for (std::uint64_t i = 0; i < captures; ++i) {
    if (i % 3 == 0) {
      detail::op_row op{};
      op.seq = ++seq;
      writer.write(message(message_kind::op, seq, op)
                       .text(field::name, "attn.op" + std::to_string(i % 60))
                       .text(field::kind, "matmul")
                       .text(field::scope, "decoder.layer." + std::to_string(i % 12) + ".attn")
                       .done());
    }
    const double x = static_cast<double>(i);
    std::vector<double> sketch(256);
    for (std::size_t b = 0; b < sketch.size(); ++b) sketch[b] = std::sin(x + static_cast<double>(b));
    bytes histogram(36, std::byte{0x85});
    detail::capture_row row{};
    detail::shape_row shape{};
    shape.rank = 2;
    shape.extent[0] = 128;
    shape.extent[1] = 64 * (1 + static_cast<std::int64_t>(i % 9));
    row.seq = ++seq;
    row.digest0 = seq;
    row.count = shape.extent[0] * shape.extent[1];
    row.dtype = static_cast<std::uint16_t>(i % 2 == 0 ? dtype::bf16 : dtype::f32);
    if (i % 8 == 7) {
      shape = {};
      row.count = 64;
      const std::vector<float> values(64, static_cast<float>(i));
      const std::vector<std::uint16_t> codes(64, static_cast<std::uint16_t>(i));
      writer.write(message(message_kind::capture, seq, row)
                       .text(field::name, "tensor" + std::to_string(i % 40))
                       .row(field::shape, shape)
                       .field(field::histogram, histogram)
                       .field(field::values, i % 2 == 0 ? raw(codes) : raw(values))
                       .done());
      continue;
    }
    message m(message_kind::capture, seq, row);
    m.text(field::name, "tensor" + std::to_string(i % 40))
        .row(field::shape, shape)
        .field(field::sketch, raw(sketch));
    m.field(field::histogram, histogram);
    if (i % 4 == 0) m.row(field::cast, detail::cast_row{});
    writer.write(m.done());
    if (i % 50 == 0) writer.commit(seq);
  }
  writer.commit(seq);
  writer.close();
  const double each = static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(captures);
  MESSAGE(each << " bytes a capture");
  CHECK(each <= 3000);
  CHECK(store::load_run(path).ranks.at(0).captures.size() == captures);
}

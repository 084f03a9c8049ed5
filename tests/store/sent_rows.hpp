#pragma once
// One row of every table with a number of its own in every field, and whether it came back.
#include <doctest/doctest.h>

#include "messages.hpp"
#include "store/load.hpp"
#include "store/tables.hpp"

namespace numdiff::testing {

using detail::field;
using detail::message_kind;

// A row whose every field differs from "not recorded" and from its neighbours.
template <class Row>
Row numbered(int seed) {
  Row row{};
  int i = seed;
  for (const store::member& m : store::members_of<Row>()) {
    auto* at = reinterpret_cast<std::byte*>(&row) + m.offset;
    ++i;
    if (m.type == store::scalar::f64) {
      const double v = i + 0.25;
      std::memcpy(at, &v, 8);
    } else {
      const std::uint64_t v = static_cast<std::uint64_t>(i);
      std::memcpy(at, &v, store::bytes_of(m.type));
    }
  }
  return row;
}

template <class Row>
void check_equal(const Row& a, const Row& b, std::initializer_list<std::string_view> apart = {}) {
  for (const store::member& m : store::members_of<Row>()) {
    bool skip = false;
    for (const auto name : apart) skip = skip || m.name == name;
    if (skip) continue;
    INFO(m.name);
    const auto* x = reinterpret_cast<const std::byte*>(&a) + m.offset;
    const auto* y = reinterpret_cast<const std::byte*>(&b) + m.offset;
    CHECK(std::memcmp(x, y, store::bytes_of(m.type) * m.extent) == 0);
  }
}

inline const std::vector<double> buckets = [] {
  std::vector<double> s(256);
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = 0.5 * static_cast<double>(i) - 7;
  return s;
}();

struct sent {
  detail::op_row op = numbered<detail::op_row>(100);
  detail::collective_row collective = numbered<detail::collective_row>(200);
  detail::capture_row capture = numbered<detail::capture_row>(300);
  detail::cast_row cast = numbered<detail::cast_row>(400);
  detail::scales_row scales = numbered<detail::scales_row>(500);
  detail::shape_row shape{};
  detail::event_row event = numbered<detail::event_row>(600);
  std::vector<std::uint16_t> codes = {0x3f80, 0x4000, 0x4040, 0x7f80, 0xff80, 0x0001};
  std::vector<std::uint8_t> scale_codes = {0x70, 0x71};
  std::vector<std::int8_t> zero_points = {-3, 4};
  std::vector<std::int64_t> ids = {5, 1, 9};
  bytes histogram = {std::byte{3}, std::byte{2}, std::byte{4}, std::byte{2}};
  bytes block_histogram = {std::byte{1}, std::byte{1}, std::byte{6}};

  sent() {
    op.seq = 7;
    shape.rank = 2;
    shape.extent[0] = 2;
    shape.extent[1] = 3;
    shape.stride[0] = 3;
    shape.stride[1] = 1;
    capture.seq = 8;
    capture.op = 7;
    capture.count = 6;
    capture.hidden = 0;
    capture.dtype = static_cast<std::uint16_t>(dtype::bf16);
    capture.scale_dtype = static_cast<std::uint16_t>(dtype::f8e8m0fnu);
    capture.zero_point_dtype = static_cast<std::uint16_t>(dtype::i8);
  }
  [[nodiscard]] bytes all() const {
    bytes out;
    append(out, message(message_kind::op, 1, op)
                    .text(field::name, "attn.scores")
                    .text(field::kind, "matmul")
                    .text(field::scope, "decoder.layer.3")
                    .text(field::tags, R"({"request":17})")
                    .text(field::factors, R"({"loss_scale":1024})")
                    .text(field::algorithm, "naive")
                    .text(field::rng, "philox")
                    .row(field::collective, collective)
                    .text(field::communicator, "tp")
                    .text(field::ranks, "[0,1]")
                    .text(field::collective_algorithm, "ring")
                    .text(field::protocol, "simple")
                    .done());
    append(out, message(message_kind::capture, 2, capture)
                    .text(field::name, "q")
                    .text(field::placement, R"({"mesh":[]})")
                    .text(field::scaling, R"({"granularity":"mx"})")
                    .text(field::axes, "b d")
                    .row(field::shape, shape)
                    .row(field::cast, cast)
                    .row(field::scales, scales)
                    .field(field::sketch, raw(buckets))
                    .field(field::histogram, histogram)
                    .field(field::block_histogram, block_histogram)
                    .field(field::values, raw(codes))
                    .field(field::scale_values, raw(scale_codes))
                    .field(field::zero_points, raw(zero_points))
                    .field(field::index, raw(ids))
                    .done());
    append(out, message(message_kind::event, 3, event).text(field::name, "marked").done());
    detail::manifest_row m{};
    m.time = 5;
    m.klass = static_cast<std::uint16_t>(manifest_class::numeric);
    append(out,
           message(message_kind::manifest, 4, m).text(field::key, "seed").text(field::value, "1").done());
    append(out,
           message(message_kind::manifest, 5, m).text(field::key, "seed").text(field::value, "2").done());
    detail::extra_row e{};
    e.owner = 8;
    e.dtype = static_cast<std::uint16_t>(dtype::i64);
    append(
        out,
        message(message_kind::extra, 6, e).text(field::key, "profile").field(field::bytes, raw(ids)).done());
    detail::drop_row d{};
    d.captures = 3;
    d.values = 4;
    append(out, message(message_kind::drop, 7, d).done());
    return out;
  }
};

template <class T>
std::vector<T> values_of(const model::rank_data& rank, dtype type, std::int64_t first, std::size_t count) {
  std::vector<T> out(count);
  rank.payload->read(type, first, std::as_writable_bytes(std::span(out)));
  return out;
}

inline void check_all(const model::rank_data& rank, const sent& s) {
  REQUIRE(rank.ops.size() == 1);
  const detail::op_row& op = rank.ops[0];
  check_equal(op, s.op, {"name", "kind", "scope", "tags", "factors", "algorithm", "rng"});
  CHECK(rank.strings[op.name] == "attn.scores");
  CHECK(rank.strings[op.kind] == "matmul");
  CHECK(rank.strings[op.scope] == "decoder.layer.3");
  CHECK(rank.strings[op.tags] == R"({"request":17})");
  CHECK(rank.strings[op.factors] == R"({"loss_scale":1024})");
  CHECK(rank.strings[op.algorithm] == "naive");
  CHECK(rank.strings[op.rng] == "philox");
  REQUIRE(rank.collectives.size() == 1);
  check_equal(rank.collectives[0], s.collective, {"op", "communicator", "ranks", "algorithm", "protocol"});
  CHECK(rank.collectives[0].op == 7);
  CHECK(rank.strings[rank.collectives[0].communicator] == "tp");
  CHECK(rank.strings[rank.collectives[0].ranks] == "[0,1]");
  CHECK(rank.strings[rank.collectives[0].algorithm] == "ring");
  CHECK(rank.strings[rank.collectives[0].protocol] == "simple");

  REQUIRE(rank.captures.size() == 1);
  const detail::capture_row& c = rank.captures[0];
  check_equal(c, s.capture,
              {"sketch", "histogram", "histogram_bytes", "payload", "scale_payload", "scale_count",
               "zero_point_payload", "zero_point_count", "index_payload", "index_count", "name", "placement",
               "scaling", "axes", "shape"});
  CHECK(rank.strings[c.name] == "q");
  CHECK(rank.strings[c.placement] == R"({"mesh":[]})");
  CHECK(rank.strings[c.scaling] == R"({"granularity":"mx"})");
  CHECK(rank.strings[c.axes] == "b d");
  REQUIRE(c.shape < rank.shapes.size());
  check_equal(rank.shapes[c.shape], s.shape);
  REQUIRE(c.sketch == 0);
  CHECK(std::memcmp(rank.sketches[0].data(), buckets.data(), 2048) == 0);
  const auto h = model::decode_histogram(
      std::span(rank.histograms).subspan(static_cast<std::size_t>(c.histogram), c.histogram_bytes));
  CHECK(h.first == -2);
  CHECK(h.counts == std::vector<std::uint64_t>{4, 2});
  CHECK(values_of<std::uint16_t>(rank, dtype::bf16, c.payload, 6) == s.codes);
  REQUIRE(c.scale_count == 2);
  CHECK(values_of<std::uint8_t>(rank, dtype::f8e8m0fnu, c.scale_payload, 2) == s.scale_codes);
  REQUIRE(c.zero_point_count == 2);
  CHECK(values_of<std::int8_t>(rank, dtype::i8, c.zero_point_payload, 2) == s.zero_points);
  REQUIRE(c.index_count == 3);
  CHECK(values_of<std::int64_t>(rank, dtype::i64, c.index_payload, 3) == s.ids);

  REQUIRE(rank.casts.size() == 1);
  check_equal(rank.casts[0], s.cast, {"capture"});
  CHECK(rank.casts[0].capture == 8);
  REQUIRE(rank.scales.size() == 1);
  check_equal(rank.scales[0], s.scales, {"capture", "histogram", "histogram_bytes"});
  CHECK(rank.scales[0].histogram_bytes == 3);
  CHECK(rank.histograms[static_cast<std::size_t>(rank.scales[0].histogram) + 2] == std::byte{6});

  REQUIRE(rank.events.size() == 1);
  check_equal(rank.events[0], s.event, {"name"});
  CHECK(rank.strings[rank.events[0].name] == "marked");
  CHECK(rank.manifest.at("seed").value == "2");
  CHECK(rank.manifest.at("seed").klass == manifest_class::numeric);
  REQUIRE(rank.extras.count(8) == 1);
  const model::extra& e = rank.extras.find(8)->second;
  CHECK(e.key == "profile");
  CHECK(e.type == dtype::i64);
  CHECK(std::memcmp(e.bytes.data(), s.ids.data(), 24) == 0);
  CHECK(rank.drops.captures == 3);
  CHECK(rank.drops.values == 4);
}

}  // namespace numdiff::testing

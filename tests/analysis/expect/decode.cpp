// Stored codes, scales and zero points become numbers.
#include "analysis/expect/decode.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>

#include "numdiff/convert.hpp"

using namespace numdiff;

namespace {

// A payload per dtype in memory.
class memory_payload : public model::payload_source {
 public:
  void read(dtype type, std::int64_t first, std::span<std::byte> out) const override {
    const auto& all = codes.at(type);
    std::memcpy(out.data(), all.data() + static_cast<std::size_t>(first) * bytes_of(type), out.size());
  }
  std::int64_t add(dtype type, const std::vector<double>& values) {
    std::vector<std::byte>& all = codes[type];
    const std::size_t before = all.size();
    all.resize(before + values.size() * bytes_of(type));
    encode(type, values.data(), all.data() + before, values.size());
    return static_cast<std::int64_t>(before / bytes_of(type));
  }
  std::map<dtype, std::vector<std::byte>> codes;
};

struct file {
  model::rank_data rank;
  std::shared_ptr<memory_payload> payload = std::make_shared<memory_payload>();
  model::capture_row row{};

  file(dtype type, std::vector<std::int64_t> shape, const std::vector<double>& values) {
    payload->add(type, {0, 0, 0});  // captures do not begin at 0
    model::shape_row s{};
    for (const std::int64_t d : shape) s.extent[s.rank++] = d;
    rank.shapes.push_back(s);
    rank.payload = payload;
    row.dtype = static_cast<std::uint16_t>(type);
    row.count = static_cast<std::int64_t>(values.size());
    row.payload = payload->add(type, values);
    row.scale_payload = row.zero_point_payload = -1;
  }
  void scales(const char* scaling, dtype type, const std::vector<double>& values) {
    row.scaling = rank.strings.add(scaling);
    row.scale_dtype = static_cast<std::uint16_t>(type);
    row.scale_payload = payload->add(type, values);
    row.scale_count = static_cast<std::int64_t>(values.size());
  }
};

}  // namespace

TEST_CASE("plain codes decode exactly") {
  file f(dtype::bf16, {2, 3}, {1, -2.5, 0, 0x1p-133, HUGE_VAL, 3});
  const analysis::tensor t = analysis::decode(f.rank, f.row);
  CHECK(t.shape == std::vector<std::int64_t>{2, 3});
  CHECK(t.values == std::vector<double>{1, -2.5, 0, 0x1p-133, HUGE_VAL, 3});
  CHECK(t.codes.size() == 12);
  CHECK(t.scales.empty());
}

TEST_CASE("scales are multiplied by group") {
  std::vector<double> codes(12);
  for (std::size_t i = 0; i < 12; ++i) codes[i] = static_cast<double>(i % 7) + 1;
  struct recipe {
    const char* json;
    std::vector<double> scales;
    std::vector<int> group;  // of the elements of a 3 x 4
  };
  const recipe recipes[] = {
      {R"({"granularity":"tensor","direction":"decode"})", {0.25}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {R"({"granularity":"row"})", {1, 2, 4}, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}},
      {R"({"granularity":"column"})", {1, 2, 4, 8}, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}},
      {R"({"granularity":"block","block":[2,3]})", {1, 2, 4, 8}, {0, 0, 0, 1, 0, 0, 0, 1, 2, 2, 2, 3}},
      {R"({"granularity":"mx","axis":0})", {1, 2, 4, 8}, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}},
  };
  for (const recipe& r : recipes) {
    file f(dtype::f8e4m3fn, {3, 4}, codes);
    f.scales(r.json, dtype::f32, r.scales);
    const analysis::tensor t = analysis::decode(f.rank, f.row);
    for (std::size_t i = 0; i < 12; ++i)
      CHECK(t.values[i] == codes[i] * r.scales[static_cast<std::size_t>(r.group[i])]);
  }
}

TEST_CASE("encode scales divide, zero points are taken off first, second-level scales multiply") {
  file f(dtype::f8e4m3fn, {2}, {8, 16});
  f.scales(R"({"granularity":"tensor","direction":"encode"})", dtype::f32, {4});
  CHECK(analysis::decode(f.rank, f.row).values == std::vector<double>{2, 4});

  file q(dtype::i8, {2}, {10, -6});
  q.scales(R"({"granularity":"tensor"})", dtype::f32, {0.5});
  q.row.zero_point_dtype = static_cast<std::uint16_t>(dtype::i32);
  q.row.zero_point_payload = q.payload->add(dtype::i32, {2});
  q.row.zero_point_count = 1;
  CHECK(analysis::decode(q.rank, q.row).values == std::vector<double>{4, -4});

  file n(dtype::f4e2m1fn, {2, 16}, std::vector<double>(32, 3));
  n.scales(R"({"granularity":"nvfp4","axis":1,"global":0.125})", dtype::ue4m3, {2, 4});
  CHECK(analysis::decode(n.rank, n.row).values[0] == 0.75);
  CHECK(analysis::decode(n.rank, n.row).values[31] == 1.5);
}

TEST_CASE("what cannot be decoded is refused") {
  file f(dtype::f8e4m3fn, {3, 4}, std::vector<double>(12, 1));
  f.scales(R"({"granularity":"row"})", dtype::f32, {1, 2});
  CHECK_THROWS_AS(analysis::decode(f.rank, f.row), std::runtime_error);
  f.row.scaling = f.rank.strings.add("{");
  CHECK_THROWS_AS(analysis::decode(f.rank, f.row), std::runtime_error);
  f.row.scaling = 0;
  f.row.count = 13;
  CHECK_THROWS_AS(analysis::decode(f.rank, f.row), std::runtime_error);
  f.row.payload = -1;
  CHECK_THROWS_AS(analysis::decode(f.rank, f.row), std::runtime_error);
}

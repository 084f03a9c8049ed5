#include <doctest/doctest.h>

#include <stdexcept>

#include "store/arrays/filters.hpp"
#include "store/arrays/npy_header.hpp"

using namespace numdiff;
using namespace numdiff::store;
using model::part_kind;

namespace {

std::vector<std::byte> npy(const std::string& header, int version = 1) {
  std::string text = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  if (version > 1) text += std::string(2, '\0');
  text += header;
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string refusal(const std::string& header, int version = 1) {
  try {
    parse_npy(npy(header, version));
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("headers of all versions") {
  for (const int version : {1, 2, 3}) {
    const npy_header h =
        parse_npy(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }     \n", version));
    CHECK(h.info.shape == model::extents{3, 4});
    CHECK(h.column_major);
    CHECK(h.offset == (version == 1 ? 10 : 12) + 64);
    CHECK(h.info.type == "f32");
    CHECK(h.info.element_bytes == 4);
  }
  CHECK(parse_npy(npy("{'shape': (), 'descr': '>i8', 'fortran_order': False}")).info.shape.empty());
  CHECK(parse_npy(npy("{\"shape\": (5L,), 'descr': '|b1', 'fortran_order': False}")).info.shape ==
        model::extents{5});
}

TEST_CASE("element types") {
  const auto one = [](const char* text) { return parse_npy_type(text).parts.at(0); };
  CHECK(one("'>i2'").big_endian);
  CHECK(one("'<u8'").type == "u64");
  CHECK(one("'<f2'").format == dtype::f16);
  CHECK(one("'<M8[ns]'").type == "datetime[ns]");
  CHECK(one("'<U7'").bytes == 28);
  CHECK(one("'|V5'").kind == part_kind::opaque);
  CHECK(one("'|O'").kind == part_kind::unread);
  const model::array_info complex = parse_npy_type("'<c16'");
  REQUIRE(complex.parts.size() == 2);
  CHECK(complex.type == "c128");
  CHECK(complex.parts[1].offset == 8);
  const model::array_info table =
      parse_npy_type("[('x', '<f4'), (('a title', 'y'), '>i8', (2, 3)), ('', '|V4'), ('z', [('u', '|S3')])]");
  CHECK(table.element_bytes == 4 + 48 + 4 + 3);
  REQUIRE(table.parts.size() == 3);
  CHECK(table.parts[1].name == ".y");
  CHECK(table.parts[1].strides == model::extents{24, 8});
  CHECK(table.parts[2].name == ".z.u");
  CHECK(table.parts[2].offset == 56);
}

TEST_CASE("what is no header is refused with a sentence") {
  CHECK(refusal("") == "its header is not a Python literal");
  CHECK(refusal("{'descr': '<f4'").find("literal") != std::string::npos);
  CHECK(refusal("{'descr': '<f4', 'shape': (3,)}").find("lacks") != std::string::npos);
  CHECK(refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}").find("literal") !=
        std::string::npos);
  CHECK(
      refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}").find("64 bits") !=
      std::string::npos);
  CHECK(refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}")
            .find("more bytes") != std::string::npos);
  CHECK(refusal("{'descr': '<q4', 'fortran_order': False, 'shape': ()}").find("'<q4'") != std::string::npos);
  CHECK(refusal("{'descr': '<i3', 'fortran_order': False, 'shape': ()}").find("'<i3'") != std::string::npos);
  CHECK(refusal("{'descr': '<S99999999999', 'fortran_order': False, 'shape': ()}").find("64 MiB") !=
        std::string::npos);
  CHECK(refusal(std::string(5000, '(')).find("literal") != std::string::npos);
  CHECK(refusal("x", 4).find("version") != std::string::npos);
  CHECK_THROWS_AS(parse_npy({}), std::invalid_argument);
}

TEST_CASE("filters end where the chunk ends") {
  const auto unpacked = [](std::vector<std::byte> bytes, filter f, std::size_t size) {
    std::vector<std::byte> scratch;
    return unfilter(bytes, scratch, {{f, 1}}, 0, size) ? static_cast<std::int64_t>(bytes.size()) : -1;
  };
  const auto bytes = [](std::initializer_list<int> all) {
    std::vector<std::byte> out;
    for (const int b : all) out.push_back(static_cast<std::byte>(b));
    return out;
  };
  // LZF: three literals, then a copy of 9 from 3 before.
  CHECK(unpacked(bytes({2, 'a', 'b', 'c', 0xE0, 0, 2}), filter::lzf, 12) == 12);
  CHECK(unpacked(bytes({2, 'a', 'b', 'c', 0xE0, 0, 2}), filter::lzf, 11) == -1);
  CHECK(unpacked(bytes({2, 'a', 'b', 'c', 0xE0, 0, 2}), filter::lzf, 13) == -1);
  CHECK(unpacked(bytes({2, 'a', 'b', 'c', 0xE0, 0, 3}), filter::lzf, 12) == -1);  // before the beginning
  CHECK(unpacked(bytes({5, 'a', 'b'}), filter::lzf, 6) == -1);
  // A zlib stream of one byte.
  CHECK(unpacked(bytes({0x78, 0x9C, 0x4B, 4, 0, 0, 0x62, 0, 0x62}), filter::deflate, 1) == 1);
  CHECK(unpacked(bytes({0x78, 0x9C, 0x4B, 4, 0, 0, 0x62, 0, 0x62}), filter::deflate, 2) == -1);
  CHECK(unpacked(bytes({0x78, 0x9C, 0x4B, 4, 0, 0, 0x62, 0, 0x63}), filter::deflate, 1) == -1);
  CHECK(unpacked(bytes({1, 2, 3}), filter::fletcher32, 3) == -1);
}

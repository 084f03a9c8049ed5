#include "store/arrays/npy_header.hpp"

#include <cstring>
#include <stdexcept>

#include "store/arrays/element_types.hpp"
#include "store/arrays/python_literal.hpp"

namespace numdiff::store {

namespace {

using model::array_info;
using model::element_part;
using model::extents;
using model::part_kind;

[[noreturn]] void fail(const std::string& why) {
  throw std::invalid_argument("is no .npy array: " + why);
}

extents shape_of(const literal& value) {
  extents shape;
  if (value.sort == literal::sort::integer) return {value.number};
  if (value.sort != literal::sort::sequence || value.items.size() > 64) fail("its shape is none");
  for (const literal& extent : value.items) {
    if (extent.sort != literal::sort::integer) fail("its shape is none");
    shape.push_back(extent.number);
  }
  return shape;
}

void unread(element_part& part, const std::string& type, const std::string& why) {
  part.kind = part_kind::unread;
  part.type = type;
  part.unread = why;
}

// "<f8", "|b1", "<U12", "<M8[ns]": byte order, kind, bytes or characters, unit.
array_info plain_type(const std::string& text) {
  std::size_t at = 0;
  const bool has_order = !text.empty() && std::strchr("<>|=", text[0]) != nullptr;
  const bool big = has_order && text[0] == '>';
  if (has_order) at = 1;
  if (at == text.size()) fail("its type '" + text + "' is none");
  const char kind = text[at++];
  std::uint64_t size = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    size = size * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (size > largest_element) fail("its type '" + text + "' has elements of more than 64 MiB");
  }
  const std::string unit = text.substr(at);
  array_info info;
  info.element_bytes = size;
  element_part part;
  part.big_endian = big;
  const auto real = [&](std::uint64_t bytes) {
    if (bytes == 2) return set_real(part, 2, 5, 10, 15);
    if (bytes == 4) return set_real(part, 4, 8, 23, 127);
    if (bytes == 8) return set_real(part, 8, 11, 52, 1023);
    if ((bytes == 12 || bytes == 16) && !big) return set_extended(part, bytes);
    unread(part, "float" + std::to_string(bytes * 8), "floating-point numbers of this width are not read");
  };
  switch (kind) {
    case 'b':
      if (size != 1) fail("its type '" + text + "' is none");
      set_boolean(part);
      break;
    case 'i':
    case 'u':
    case 'm':
    case 'M':
      if (size != 1 && size != 2 && size != 4 && size != 8) fail("its type '" + text + "' is none");
      set_integer(part, size, kind != 'u');
      if (kind == 'm') part.type = "timedelta" + unit;
      if (kind == 'M') part.type = "datetime" + unit;
      break;
    case 'f': real(size); break;
    case 'c': {
      if (size % 2 != 0) fail("its type '" + text + "' is none");
      real(size / 2);
      info.type = complex_name(part);
      part.name = ".real";
      info.parts.push_back(part);
      part.name = ".imag";
      part.offset = size / 2;
      break;
    }
    case 'S':
    case 'a': set_text(part, size, model::text_end::nul_padding); break;
    case 'U':
      info.element_bytes = size * 4;
      set_text(part, size * 4, model::text_end::nul_padding);
      part.utf32 = true;
      break;
    case 'V': set_opaque(part, size, ""); break;
    case 'O':
      info.element_bytes = 0;
      unread(part, "object", "Python objects (a pickle) are not read: save numbers or text instead");
      break;
    default: fail("its type '" + text + "' is none");
  }
  if (info.type.empty()) info.type = part.type;
  info.parts.push_back(part);
  return info;
}

array_info type_of(const literal& value, int depth);

// [('x', '<f4'), (('title', 'y'), '<i8', (3,)), ('', '|V4')]; fields without a name are padding.
array_info structured_type(const literal& value, int depth) {
  array_info info;
  info.type = "{";
  for (const literal& field : value.items) {
    if (field.sort != literal::sort::sequence || field.items.size() < 2 || field.items.size() > 3)
      fail("its type has a field that is none");
    const literal& called = field.items[0];
    const bool titled = called.sort == literal::sort::sequence && called.items.size() == 2;
    const literal& name = titled ? called.items[1] : called;
    if (name.sort != literal::sort::text) fail("its type has a field without a name");
    array_info inner = type_of(field.items[1], depth + 1);
    const extents shape = field.items.size() == 3 ? shape_of(field.items[2]) : extents{};
    std::uint64_t times = 1;
    if (!model::multiply(shape, times) || times > largest_element ||
        inner.element_bytes * times > largest_element)
      fail("its elements have more than 64 MiB");
    for (element_part& part : inner.parts) {
      if (name.text.empty()) break;
      part.name = "." + name.text + part.name;
      part.offset += info.element_bytes;
      extents strides(shape.size(), inner.element_bytes);
      for (std::size_t d = shape.size(); d > 1; --d) strides[d - 2] = strides[d - 1] * shape[d - 1];
      part.shape.insert(part.shape.begin(), shape.begin(), shape.end());
      part.strides.insert(part.strides.begin(), strides.begin(), strides.end());
      info.parts.push_back(part);
    }
    if (!name.text.empty()) {
      info.type += (info.type.size() > 1 ? ", " : "") + name.text + ": " + inner.type;
      for (const std::uint64_t extent : shape) info.type += "[" + std::to_string(extent) + "]";
    }
    info.element_bytes += inner.element_bytes * times;
    if (info.parts.size() > most_parts || info.element_bytes > largest_element)
      fail("its elements have too many fields");
  }
  info.type += "}";
  return info;
}

array_info type_of(const literal& value, int depth) {
  if (depth > 16) fail("its type is too deep");
  if (value.sort == literal::sort::text) return plain_type(value.text);
  if (value.sort != literal::sort::sequence) fail("its type is none");
  return structured_type(value, depth);
}

}  // namespace

model::array_info parse_npy_type(const std::string& text) {
  return type_of(parse_literal(text), 0);
}

npy_header parse_npy(std::span<const std::byte> bytes) {
  static constexpr char magic[] = "\x93NUMPY";
  if (bytes.size() < npy_shortest || std::memcmp(bytes.data(), magic, 6) != 0)
    fail("it does not begin like one");
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint64_t>(bytes[i]); };
  const std::uint64_t version = byte(6);
  if (version < 1 || version > 3) fail("its format version " + std::to_string(version) + " is unknown");
  const std::size_t head = version == 1 ? 10 : 12;
  if (bytes.size() < head) fail("it is truncated");
  const std::uint64_t length = byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > npy_longest - head) fail("its header has more than a MiB");
  if (bytes.size() - head < length) fail("it is truncated");
  const literal top = parse_literal({reinterpret_cast<const char*>(bytes.data()) + head, length});
  const literal *type = top.find("descr"), *order = top.find("fortran_order"), *shape = top.find("shape");
  if (type == nullptr || order == nullptr || shape == nullptr || order->sort != literal::sort::boolean)
    fail("its header lacks descr, fortran_order or shape");
  npy_header header;
  header.info = type_of(*type, 0);
  header.info.shape = shape_of(*shape);
  header.column_major = order->number != 0;
  header.offset = head + length;
  std::uint64_t elements = 0;
  if (!model::multiply(header.info.shape, elements) ||
      (header.info.element_bytes != 0 && elements > (std::uint64_t{1} << 62) / header.info.element_bytes))
    fail("it declares more bytes than there can be");
  for (const element_part& part : header.info.parts)
    if (part.type == "object") header.info.unread = part.unread;
  return header;
}

}  // namespace numdiff::store

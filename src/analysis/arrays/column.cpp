#include "analysis/arrays/column.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "numdiff/convert.hpp"

namespace numdiff::analysis {

namespace {

using model::element_part;
using model::part_kind;

void copy_scalar(const element_part& part, const std::byte* from, std::byte* to) {
  if (part.big_endian && part.utf32) {
    for (std::uint64_t i = 0; i < part.bytes; i += 4) std::reverse_copy(from + i, from + i + 4, to + i);
  } else if (part.big_endian && part.kind != part_kind::text && part.kind != part_kind::opaque) {
    std::reverse_copy(from, from + part.bytes, to);
  } else {
    std::memcpy(to, from, part.bytes);
  }
}

template <std::size_t Bytes>
void swap_all(const std::byte* from, std::byte* to, std::uint64_t count, std::uint64_t step) {
  for (std::uint64_t i = 0; i < count; ++i, from += step, to += Bytes)
    std::reverse_copy(from, from + Bytes, to);
}
template <std::size_t Bytes>
void copy_all(const std::byte* from, std::byte* to, std::uint64_t count, std::uint64_t step) {
  for (std::uint64_t i = 0; i < count; ++i, from += step, to += Bytes) std::memcpy(to, from, Bytes);
}

// `count` scalars, `step` bytes apart.
void copy_run(const element_part& part, const std::byte* from, std::byte* to, std::uint64_t count,
              std::uint64_t step) {
  const bool number = part.kind != part_kind::text && part.kind != part_kind::opaque;
  const bool swap = part.big_endian && number;
  if (number && part.bytes == 8)
    return swap ? swap_all<8>(from, to, count, step) : copy_all<8>(from, to, count, step);
  if (number && part.bytes == 4)
    return swap ? swap_all<4>(from, to, count, step) : copy_all<4>(from, to, count, step);
  if (number && part.bytes == 2)
    return swap ? swap_all<2>(from, to, count, step) : copy_all<2>(from, to, count, step);
  for (std::uint64_t i = 0; i < count; ++i) copy_scalar(part, from + i * step, to + i * part.bytes);
}

void append_utf8(std::string& text, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
  } else {
    put(0xF0 | (c >> 18 & 7));
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

template <class Number>
std::string shortest(Number value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string decimal(wide value) {
  const bool negative = value < 0;
  std::string digits;
  do {
    const int digit = static_cast<int>(value % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    value /= 10;
  } while (value != 0);
  return negative ? "-" + digits : digits;
}

std::string hexadecimal(const std::byte* bytes, std::uint64_t count) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text = "0x";
  for (std::uint64_t i = 0; i < count; ++i) {
    text += digits[std::to_integer<unsigned>(bytes[i]) >> 4];
    text += digits[std::to_integer<unsigned>(bytes[i]) & 15];
  }
  return text;
}

constexpr std::uint64_t longest_text = 200;  // of a value in a report

}  // namespace

std::uint64_t scalars_of(const element_part& part) noexcept {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : part.shape) count *= extent;
  return count;
}

std::span<const std::byte> gather(const element_part& part, std::uint64_t element_bytes,
                                  std::span<const std::byte> elements, std::vector<std::byte>& buffer) {
  const std::uint64_t inner = scalars_of(part), count = elements.size() / element_bytes;
  bool packed = !part.big_endian && part.offset == 0 && part.bytes * inner == element_bytes;
  for (std::size_t d = 0; d < part.shape.size() && packed; ++d)
    packed =
        part.strides[d] ==
        part.bytes * (d + 1 < part.shape.size() ? part.strides[d + 1] / part.bytes * part.shape[d + 1] : 1);
  if (packed) return elements;
  buffer.resize(count * inner * part.bytes);
  if (part.shape.empty()) {
    copy_run(part, elements.data() + part.offset, buffer.data(), count, element_bytes);
    return buffer;
  }
  if (inner == 0) return buffer;
  std::byte* to = buffer.data();
  const std::size_t last = part.shape.size() - 1;
  std::vector<std::uint64_t> at(last, 0);
  for (std::uint64_t e = 0; e < count; ++e) {
    for (;;) {
      const std::byte* from = elements.data() + e * element_bytes + part.offset;
      for (std::size_t d = 0; d < last; ++d) from += at[d] * part.strides[d];
      copy_run(part, from, to, part.shape[last], part.strides[last]);
      to += part.shape[last] * part.bytes;
      std::size_t d = last;
      while (d > 0 && ++at[d - 1] == part.shape[d - 1]) at[--d] = 0;
      if (d == 0) break;
    }
  }
  return buffer;
}

std::string text_at(const element_part& part, const std::byte* bytes) {
  if (part.end == model::text_end::variable) {
    const char* text = nullptr;
    std::memcpy(&text, bytes, sizeof text);
    return text == nullptr ? "" : text;
  }
  if (part.utf32) {
    std::string text;
    std::uint64_t length = part.bytes;
    const auto character = [&](std::uint64_t at) {
      std::uint32_t c = 0;
      std::memcpy(&c, bytes + at, 4);
      return c;
    };
    while (length >= 4 && character(length - 4) == 0) length -= 4;
    for (std::uint64_t at = 0; at + 4 <= length; at += 4) append_utf8(text, character(at));
    return text;
  }
  const char* begin = reinterpret_cast<const char*>(bytes);
  std::uint64_t length = part.bytes;
  if (part.end == model::text_end::nul) length = ::strnlen(begin, length);
  const char pad = part.end == model::text_end::space_padding ? ' ' : '\0';
  while (length > 0 && begin[length - 1] == pad) --length;
  return {begin, length};
}

wide integer_at(const element_part& part, const std::byte* bytes) noexcept {
  std::uint64_t code = 0;
  std::memcpy(&code, bytes, std::min<std::uint64_t>(part.bytes, 8));
  const unsigned unused = 64U - part.precision;
  code = code >> part.bit_offset << unused;
  if (part.is_signed) return static_cast<std::int64_t>(code) >> unused;
  return code >> unused;
}

long double real_at(const element_part& part, const std::byte* bytes) noexcept {
  if (part.format == dtype::unknown) {
    long double value = 0;
    std::memcpy(&value, bytes, 10);
    return value;
  }
  double value = 0;
  decode(part.format, bytes, &value, 1);
  return value;
}

std::string value_text(const element_part& part, const std::byte* bytes) {
  switch (part.kind) {
    case part_kind::integer: return decimal(integer_at(part, bytes));
    case part_kind::boolean: {
      const wide value = integer_at(part, bytes);
      return value == 0 ? "false" : value == 1 ? "true" : "true (" + decimal(value) + ")";
    }
    case part_kind::enumeration: {
      const wide value = integer_at(part, bytes);
      for (const auto& [code, name] : part.names)
        if (code == static_cast<std::int64_t>(value)) return name + " (" + decimal(value) + ")";
      return decimal(value);
    }
    case part_kind::real: {
      const long double value = real_at(part, bytes);
      if (part.format == dtype::unknown) return shortest(value);
      if (part.format == dtype::f64) return shortest(static_cast<double>(value));
      return shortest(static_cast<float>(value));
    }
    case part_kind::text: {
      std::string text = text_at(part, bytes);
      if (text.size() > longest_text) return "\"" + text.substr(0, longest_text) + "\"...";
      return "\"" + text + "\"";
    }
    case part_kind::opaque:
      return hexadecimal(bytes, std::min<std::uint64_t>(part.bytes, longest_text / 2)) +
             (part.bytes > longest_text / 2 ? "..." : "");
    case part_kind::unread: break;
  }
  return "";
}

}  // namespace numdiff::analysis

#pragma once
// JSON texts in the one form that equal descriptors share: no spaces, keys in the order given.
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace numdiff {
inline namespace v1 {
namespace detail {

inline void append_number(std::string& out, std::int64_t value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// The shortest text that reads back as `value`, in any locale; null for what JSON cannot say.
inline void append_number(std::string& out, double value) {
  char digits[40];
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof bits);
  if ((bits >> 52U & 0x7ffU) == 0x7ffU) {
    out += "null";
    return;
  }
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

inline void append_quoted(std::string& out, std::string_view text) {
  constexpr char hex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20) {
      out += "\\u00";
      out += hex[code >> 4U];
      out += hex[code & 0xfU];
    } else {
      out += c;
    }
  }
  out += '"';
}

inline void append_key(std::string& out, std::string_view key) {
  if (!out.empty() && out.back() != '{') out += ',';
  append_quoted(out, key);
  out += ':';
}

inline void append_list(std::string& out, const std::int64_t* values, std::uint32_t count) {
  out += '[';
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i != 0) out += ',';
    append_number(out, values[i]);
  }
  out += ']';
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

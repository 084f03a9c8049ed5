#include "report/style.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace numdiff::report {

std::string paint(const style& s, ink i, std::string_view text) {
  const char* code = "";
  switch (i) {
    case ink::plain: break;
    case ink::bold: code = "1"; break;
    case ink::good: code = "32"; break;
    case ink::bad: code = "1;31"; break;
    case ink::warn: code = "33"; break;
    case ink::faint: code = "2"; break;
  }
  if (!s.colour || *code == '\0') return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = static_cast<unsigned char>(text[i]);
    const unsigned next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (text[i] == '\n') {
      out += "\\n";
    } else if (code < 0x20 || code == 0x7f) {
      out += fmt::format("\\x{:02x}", code);
    } else if (code == 0xc2 && next >= 0x80 && next < 0xa0) {  // control characters beyond ASCII
      out += fmt::format("\\x{:02x}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string wrapped(const style& s, std::string_view head, std::size_t indent, std::string_view words) {
  const std::string shown = printable(words);
  std::string_view text = shown;
  std::string out(head);
  std::size_t column = indent;
  bool fresh = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!fresh && column + 1 + word.size() > s.width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
      fresh = true;
    }
    if (!fresh) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    fresh = false;
  }
  return out + '\n';
}

std::string residue(const style& s, std::size_t total, std::string_view what) {
  if (total <= s.top) return {};
  const std::string_view tail = what.empty() ? "" : " ";
  return paint(s, ink::faint, fmt::format("  and {} more{}{}", total - s.top, tail, what)) + '\n';
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (text.size() <= columns) return std::string(text);
  if (columns <= 5) return std::string(text.substr(0, columns));
  const std::size_t front = (columns - 2) / 2;
  const std::size_t back = columns - 2 - front;
  return fmt::format("{}..{}", text.substr(0, front), text.substr(text.size() - back));
}

std::string shortened_front(std::string_view text, std::size_t columns) {
  if (text.size() <= columns || columns <= 2) return std::string(text.substr(0, columns));
  return fmt::format("..{}", text.substr(text.size() - (columns - 2)));
}

}  // namespace numdiff::report

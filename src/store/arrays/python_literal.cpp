#include "store/arrays/python_literal.hpp"

#include <cctype>
#include <stdexcept>

namespace numdiff::store {

namespace {

class parser {
 public:
  explicit parser(std::string_view text) : text_(text) {}

  literal whole() {
    literal value = one(0);
    space();
    if (at_ != text_.size()) fail();
    return value;
  }

 private:
  static constexpr int deepest = 32;

  [[noreturn]] static void fail() { throw std::invalid_argument("its header is not a Python literal"); }

  void space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char peek() {
    space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view name) {
    if (!text_.substr(at_).starts_with(name)) return false;
    at_ += name.size();
    return true;
  }

  literal one(int depth) {
    if (depth > deepest) fail();
    const char c = peek();
    literal value;
    if (c == '(' || c == '[') {
      value.sort = literal::sort::sequence;
      sequence(value, c == '(' ? ')' : ']', depth);
    } else if (c == '{') {
      value.sort = literal::sort::dictionary;
      dictionary(value, depth);
    } else if (c == '\'' || c == '"') {
      value.sort = literal::sort::text;
      string(value, c);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      value.sort = literal::sort::integer;
      integer(value);
    } else if (word("True") || word("False")) {
      value.sort = literal::sort::boolean;
      value.number = text_[at_ - 2] == 'u' ? 1 : 0;  // Tr-u-e, Fal-s-e
    } else if (!word("None")) {
      fail();
    }
    return value;
  }

  void sequence(literal& into, char end, int depth) {
    ++at_;
    while (!take(end)) {
      into.items.push_back(one(depth + 1));
      if (!take(',') && peek() != end) fail();
    }
  }

  void dictionary(literal& into, int depth) {
    ++at_;
    while (!take('}')) {
      into.items.push_back(one(depth + 1));
      if (!take(':')) fail();
      into.items.push_back(one(depth + 1));
      if (!take(',') && peek() != '}') fail();
    }
  }

  void string(literal& into, char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] != '\\') {
        into.text += text_[at_];
        continue;
      }
      // Python writes \\, \' and \" for themselves; escapes of other characters stay as they are written.
      if (++at_ == text_.size()) fail();
      if (text_[at_] != '\\' && text_[at_] != '\'' && text_[at_] != '"') into.text += '\\';
      into.text += text_[at_];
    }
    if (at_ == text_.size()) fail();
    ++at_;
  }

  void integer(literal& into) {
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_)
      if (__builtin_mul_overflow(into.number, std::uint64_t{10}, &into.number) ||
          __builtin_add_overflow(into.number, static_cast<std::uint64_t>(text_[at_] - '0'), &into.number))
        throw std::invalid_argument("its header has a number of more than 64 bits");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote them
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const literal* literal::find(std::string_view key) const noexcept {
  if (sort != sort::dictionary) return nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i].sort == sort::text && items[i].text == key) return &items[i + 1];
  return nullptr;
}

literal parse_literal(std::string_view text) {
  return parser(text).whole();
}

}  // namespace numdiff::store

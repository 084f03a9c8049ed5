#pragma once
// Which ops are recorded, and at which level.
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// '*' matches any characters, '?' one; everything else itself.
inline bool glob_matches(std::string_view pattern, std::string_view words) noexcept {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < words.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == words[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

inline std::string_view trimmed(std::string_view s) noexcept {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '\r')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

// Calls f(part) for each part between commas, until it returns false.
template <class F>
bool for_each_part(std::string_view list, F&& f) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (!f(trimmed(list.substr(0, comma)))) return false;
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return true;
}

inline bool parse_integer(std::string_view words, std::int64_t& value) noexcept {
  const auto r = std::from_chars(words.data(), words.data() + words.size(), value);
  return !words.empty() && r.ec == std::errc() && r.ptr == words.data() + words.size();
}

inline bool parse_level(std::string_view words, level& value) noexcept {
  constexpr std::string_view names[] = {"off", "stats", "sketch", "tensors"};
  for (std::uint16_t i = 0; i < 4; ++i) {
    if (words == names[i]) {
      value = static_cast<level>(i);
      return true;
    }
  }
  return false;
}

// "decoder.layer.*, loss/*=tensors": globs over "scope/op", the first that matches decides. Without
// "=level" the level is the session's. Nothing given: everything at the session's level.
class op_selection {
 public:
  bool parse(std::string_view words, level otherwise) {
    rules_.clear();
    otherwise_ = otherwise;
    return for_each_part(words, [&](std::string_view part) {
      if (part.empty()) return true;
      rule r{std::string(part), otherwise};
      const std::size_t equals = part.rfind('=');
      if (equals != std::string_view::npos) {
        r.glob = std::string(trimmed(part.substr(0, equals)));
        if (!parse_level(trimmed(part.substr(equals + 1)), r.at)) return false;
      }
      rules_.push_back(r);
      return true;
    });
  }

  [[nodiscard]] level level_of(std::string_view scope, std::string_view op) const {
    if (rules_.empty()) return otherwise_;
    std::string path(scope);
    path += '/';
    path += op;
    for (const rule& r : rules_) {
      if (glob_matches(r.glob, path)) return r.at;
    }
    return level::off;
  }

 private:
  struct rule {
    std::string glob;
    level at;
  };
  std::vector<rule> rules_;
  level otherwise_ = level::off;
};

// "0:10" is [0, 10), "3" one step, "0:1000:50" every 50th, joined with commas; a bound may be missing.
// Nothing given: every step. What happens outside any step is always selected.
class step_selection {
 public:
  bool parse(std::string_view words) {
    ranges_.clear();
    return for_each_part(words, [&](std::string_view part) { return part.empty() || parse_range(part); });
  }

  [[nodiscard]] bool selects(std::int64_t step) const noexcept {
    if (ranges_.empty() || step < 0) return true;
    for (const range& r : ranges_) {
      if (step >= r.begin && step < r.end && (step - r.begin) % r.stride == 0) return true;
    }
    return false;
  }

 private:
  struct range {
    std::int64_t begin = 0, end = INT64_MAX, stride = 1;
  };
  bool parse_range(std::string_view part) {
    range r;
    const std::size_t first = part.find(':');
    if (first == std::string_view::npos) {
      if (!parse_integer(part, r.begin) || r.begin < 0 || r.begin == INT64_MAX) return false;
      r.end = r.begin + 1;
    } else {
      const std::size_t second = part.find(':', first + 1);
      const std::string_view begin = part.substr(0, first);
      const std::string_view end = part.substr(
          first + 1, second == std::string_view::npos ? std::string_view::npos : second - first - 1);
      if (!begin.empty() && !parse_integer(begin, r.begin)) return false;
      if (!end.empty() && !parse_integer(end, r.end)) return false;
      if (second != std::string_view::npos && !parse_integer(part.substr(second + 1), r.stride)) return false;
      if (r.begin < 0 || r.end < r.begin || r.stride < 1) return false;
    }
    ranges_.push_back(r);
    return true;
  }
  std::vector<range> ranges_;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

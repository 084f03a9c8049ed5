#include "model/selection.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "model/path.hpp"

namespace numdiff::model {

namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Cuts the part before the first `separator` off `text`; the separator is dropped.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

[[noreturn]] void refuse(const char* what, std::string_view part, const char* forms) {
  throw std::invalid_argument(std::string(what) + " '" + std::string(part) + "': give " + forms);
}

step_range parse_range(std::string_view part) {
  const auto bad = [&] { refuse("steps", part, "a step (3) or first:end:stride (0:10, 5:, 0:100:20)"); };
  std::string_view rest = part;
  step_range range;
  const bool single = part.find(':') == std::string_view::npos;
  if (const std::string_view text = cut(rest, ':'); single || !text.empty()) {
    const auto first = number(text);
    if (!first || *first == std::numeric_limits<std::int64_t>::max()) bad();
    range.first = *first;
  }
  if (single) {
    range.last = range.first + 1;
    return range;
  }
  if (const std::string_view last = cut(rest, ':'); !last.empty()) {
    const auto value = number(last);
    if (!value || *value <= range.first) bad();
    range.last = *value;
  }
  if (!rest.empty()) {
    const auto stride = number(rest);
    if (!stride || *stride < 1) bad();
    range.stride = *stride;
  }
  return range;
}

bool any_matches(const std::vector<std::string>& patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, text); });
}

bool scope_matches(const std::string& pattern, std::string_view scope) {
  return matches(pattern, scope) ||
         (scope.size() > pattern.size() && scope.starts_with(pattern) && scope[pattern.size()] == '.');
}

}  // namespace

std::vector<step_range> parse_steps(std::string_view text) {
  std::vector<step_range> ranges;
  do ranges.push_back(parse_range(cut(text, ',')));
  while (!text.empty());
  return ranges;
}

std::vector<std::int32_t> parse_ranks(std::string_view text) {
  constexpr std::int64_t most = 1 << 24;
  std::vector<std::int32_t> ranks;
  do {
    const std::string_view part = cut(text, ',');
    std::string_view rest = part;
    const auto first = number(cut(rest, '-'));
    const auto last = part.find('-') == std::string_view::npos ? first : number(rest);
    if (!first || !last || *first < 0 || *last < *first || *last > most)
      refuse("ranks", part, "a rank (0) or first-last (0-3)");
    for (std::int64_t r = *first; r <= *last; ++r) ranks.push_back(static_cast<std::int32_t>(r));
  } while (!text.empty());
  return ranks;
}

bool selection::has_rank(std::int32_t rank) const noexcept {
  return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

bool selection::has(std::int64_t step, std::string_view scope, std::string_view op) const noexcept {
  if (!steps.empty() &&
      std::none_of(steps.begin(), steps.end(), [&](const step_range& range) { return range.has(step); }))
    return false;
  if (!scopes.empty() && std::none_of(scopes.begin(), scopes.end(),
                                      [&](const std::string& p) { return scope_matches(p, scope); }))
    return false;
  return ops.empty() || any_matches(ops, op);
}

bool selection::has(const rank_data& rank, const op_row& op) const noexcept {
  return has(op.step, rank.strings[op.scope], rank.strings[op.name]);
}

}  // namespace numdiff::model

#include "analysis/next_capture.hpp"

#include <algorithm>
#include <cctype>

#include "analysis/chain.hpp"

namespace numdiff::analysis {

namespace {

constexpr std::size_t most_patterns = 24;  // a longer selection is nothing that anyone types

// A pattern that matches the name; what has a meaning in a selection is matched by '?'.
std::string pattern_of(const std::string& scope, const std::string& op) {
  std::string text = scope + "/" + op;
  for (char& c : text)
    if (c == ',' || c == '=' || c == '*' || std::isspace(static_cast<unsigned char>(c)) != 0 ||
        std::iscntrl(static_cast<unsigned char>(c)) != 0)
      c = '?';
  return text;
}

// "decoder.layer.*": layers share a pattern.
std::string general_pattern(std::string scope, const std::string& op) {
  scope = general_name(scope);
  std::ranges::replace(scope, '#', '*');
  return pattern_of("", op).substr(1).insert(0, scope + "/");
}

std::string ranges_of(const std::set<std::int64_t>& steps) {
  std::string text;
  for (auto at = steps.begin(); at != steps.end();) {
    const std::int64_t first = *at;
    std::int64_t last = first;
    while (++at != steps.end() && *at == last + 1) last = *at;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += ":" + std::to_string(last + 1);
  }
  return text;
}

// For a shell: as it is, or in single quotes.
std::string quoted(const std::string& text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./:,=-+@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

void capture_wishes::add(const run_index& run, const logical_op& op, std::uint64_t order, bool open) {
  if (op.outside) return;
  if (!wishes_.empty() && wishes_.back().order == order && !wishes_.back().all) return;
  wishes_.push_back({order, op.step, run.names().text(op.scope), run.names().text(op.name), open, false});
}

void capture_wishes::add_step(std::int64_t step, std::uint64_t order) {
  wishes_.push_back({order, step, "", "", true, true});
}

void capture_wishes::add_shards(const std::string& axis_and_ranks) {
  shards_.insert(axis_and_ranks);
}

std::optional<capture_request> capture_wishes::request(const run_index& run, std::uint64_t last) const {
  std::set<std::int64_t> steps;
  std::set<std::string> exact, general;
  bool any = false, all = false;
  for (const wish& w : wishes_) {
    if (w.order > last) continue;
    any = any || w.open;
    all = all || w.all;
    if (w.step >= 0) steps.insert(w.step);
    if (w.all) continue;
    exact.insert(pattern_of(w.scope, w.op));
    general.insert(general_pattern(w.scope, w.op));
  }
  if (!any) return std::nullopt;
  std::set<std::pair<std::uint32_t, std::uint32_t>> there;
  for (const logical_op& op : run.ops())
    if (!op.outside) there.emplace(op.scope, op.name);
  capture_request request;
  for (const std::string& s : shards_) request.shards += (request.shards.empty() ? "" : ",") + s;
  request.steps = ranges_of(steps);
  const std::set<std::string>& patterns = exact.size() <= most_patterns ? exact : general;
  if (all || exact.size() >= there.size() || patterns.size() > most_patterns) {
    request.select = "*";
    request.level = "tensors";
    return request;
  }
  for (const std::string& p : patterns) request.select += p + "=tensors,";
  request.select += "*";
  request.level = "sketch";
  return request;
}

std::string line_of(const capture_request& request) {
  std::string line = "NUMDIFF_SELECT=" + quoted(request.select);
  if (!request.steps.empty()) line += " NUMDIFF_STEPS=" + request.steps;
  if (!request.shards.empty()) line += " NUMDIFF_SHARDS=" + quoted(request.shards);
  return line + " NUMDIFF_LEVEL=" + request.level;
}

}  // namespace numdiff::analysis

#include "model/path.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace numdiff::model {

const char* role_name(role r) noexcept {
  switch (r) {
    case role::none: return "tensor";
    case role::input: return "input";
    case role::weight: return "weight";
    case role::scale: return "scale";
    case role::accumulate: return "accumulate";
    case role::output: return "output";
    case role::gradient: return "gradient";
    case role::state: return "state";
    case role::scalar: return "scalar";
  }
  return "unknown";
}

const char* phase_name(phase p) noexcept {
  switch (p) {
    case phase::none: return "";
    case phase::forward: return "forward";
    case phase::backward: return "backward";
    case phase::recompute: return "recompute";
    case phase::optimizer: return "optimizer";
    case phase::communication: return "communication";
    case phase::evaluation: return "evaluation";
  }
  return "unknown";
}

const char* usage_name(usage u) noexcept {
  switch (u) {
    case usage::none: return "";
    case usage::rowwise: return "rowwise";
    case usage::columnwise: return "columnwise";
  }
  return "unknown";
}

const char* level_name(level l) noexcept {
  switch (l) {
    case level::off: return "off";
    case level::stats: return "stats";
    case level::sketch: return "sketch";
    case level::tensors: return "tensors";
  }
  return "unknown";
}

std::vector<std::uint32_t> call_numbers(const rank_data& rank) {
  using context = std::tuple<std::int64_t, std::int32_t, std::uint16_t, std::string_view, std::string_view>;
  std::map<context, std::uint32_t> next;
  std::vector<std::uint32_t> calls;
  calls.reserve(rank.ops.size());
  for (const op_row& op : rank.ops)
    calls.push_back(
        next[{op.step, op.micro_batch, op.phase, rank.strings[op.scope], rank.strings[op.name]}]++);
  return calls;
}

std::size_t find_op(const rank_data& rank, std::uint64_t seq) noexcept {
  const auto at = std::lower_bound(rank.ops.begin(), rank.ops.end(), seq,
                                   [](const op_row& op, std::uint64_t s) { return op.seq < s; });
  return at != rank.ops.end() && at->seq == seq ? static_cast<std::size_t>(at - rank.ops.begin())
                                                : rank.ops.size();
}

std::string op_path(const rank_data& rank, const op_row& op, std::uint32_t call) {
  std::string path;
  if (op.step >= 0) path += "/step_" + std::to_string(op.step);
  if (op.micro_batch >= 0) path += "/mb_" + std::to_string(op.micro_batch);
  if (op.scope != 0) path.append("/").append(rank.strings[op.scope]);
  path.append("/").append(rank.strings[op.name]).append(".").append(std::to_string(call));
  if (op.phase != 0) path.append(".").append(phase_name(static_cast<phase>(op.phase)));
  return path;
}

std::string tensor_path(const rank_data& rank, const capture_row& capture,
                        const std::vector<std::uint32_t>& calls) {
  std::string path;
  const std::size_t at = capture.op == 0 ? rank.ops.size() : find_op(rank, capture.op);
  if (at < rank.ops.size()) path = op_path(rank, rank.ops[at], calls[at]);
  path.append("/").append(role_name(static_cast<role>(capture.role))).append(".");
  path.append(rank.strings[capture.name]);
  if (capture.usage != 0) path.append(".").append(usage_name(static_cast<usage>(capture.usage)));
  return path;
}

bool matches(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace numdiff::model

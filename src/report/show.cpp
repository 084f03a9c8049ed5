#include "report/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/path.hpp"
#include "report/number.hpp"
#include "report/table.hpp"
#include "report/tensor.hpp"

namespace numdiff::report {

namespace {

// A pattern fits a whole path, or its end from some '/' or '.' on.
bool names(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || model::matches(pattern, path)) return true;
  for (std::size_t at = 0; at < path.size(); ++at)
    if ((path[at] == '/' || path[at] == '.') && model::matches(pattern, path.substr(at + 1))) return true;
  return false;
}

std::string summary(const model::run& run, const style& s) {
  std::string out = paint(s, ink::bold, run.path) + '\n';
  out +=
      wrapped(s, "  ", 2,
              fmt::format("run {}, {} of {}", run.run_id, counted(run.ranks.size(), "rank"), run.world_size));
  for (const model::rank_data& rank : run.ranks) {
    std::string line =
        fmt::format("rank {}: {}, {}, {}", rank.rank, counted(rank.ops.size(), "op"),
                    counted(rank.captures.size(), "capture"), rank.closed ? "closed properly" : "not closed");
    if (rank.cut_rows != 0) line += ", " + counted(rank.cut_rows, "row") + " cut off";
    if (rank.unknown_rows != 0) line += ", " + counted(rank.unknown_rows, "row") + " of unknown kinds";
    const model::drop_counts& d = rank.drops;
    for (const auto& [count, what] :
         {std::pair{d.captures, "captures"}, std::pair{d.ops, "ops"}, std::pair{d.events, "events"},
          std::pair{d.values, "values"}, std::pair{d.sketches, "sketches"},
          std::pair{d.histograms, "histograms"}})
      if (count != 0) line += fmt::format(", {} {} dropped", counted(count), what);
    out += wrapped(s, "  ", 4, line);
  }
  for (const std::string& warning : run.warnings) out += wrapped(s, "  warning: ", 4, warning);
  return out;
}

std::string manifest_section(const model::rank_data& rank, const style& s) {
  table t({{"key"}, {"value", align::left, cut::middle}});
  for (const auto& [key, entry] : rank.manifest) t.add({key, entry.value});
  return t.size() == 0 ? std::string() : '\n' + paint(s, ink::bold, "Manifest") + '\n' + t.text(s);
}

std::string types_text(const model::op_row& op) {
  const auto name = [](std::uint16_t t) { return name_of(static_cast<dtype>(t)); };
  std::string text = name(op.input_dtype);
  if (op.input2_dtype != 0 && op.input2_dtype != op.input_dtype)
    text += fmt::format("*{}", name(op.input2_dtype));
  if (op.accumulate_dtype != 0 && op.accumulate_dtype != op.output_dtype)
    text += fmt::format(">{}", name(op.accumulate_dtype));
  return text + fmt::format(">{}", name(op.output_dtype));
}

std::string ops_section(const model::run& run, const model::selection& select, const style& s) {
  table t({{"rank", align::right}, {"kind"}, {"types"}, {"op"}});
  std::size_t total = 0;
  for (const model::rank_data& rank : run.ranks) {
    if (!select.has_rank(rank.rank)) continue;
    const auto calls = model::call_numbers(rank);
    for (std::size_t i = 0; i < rank.ops.size(); ++i) {
      if (!select.has(rank, rank.ops[i])) continue;
      if (++total <= s.top)
        t.add({fmt::format("{}", rank.rank), std::string(rank.strings[rank.ops[i].kind]),
               types_text(rank.ops[i]), model::op_path(rank, rank.ops[i], calls[i])});
    }
  }
  return '\n' + paint(s, ink::bold, fmt::format("Ops ({})", counted(total))) + '\n' +
         (total == 0 ? std::string() : t.text(s)) + residue(s, total, "");
}

std::string captures_section(const std::vector<shown>& captures, const style& s) {
  table t({{"rank", align::right},
           {"type"},
           {"shape"},
           {"amax", align::right},
           {"nan+inf", align::right},
           {"tensor"}});
  for (std::size_t i = 0; i < captures.size() && i < s.top; ++i) {
    const model::capture_row& row = *captures[i].row;
    t.add({fmt::format("{}", captures[i].rank->rank), name_of(static_cast<dtype>(row.dtype)),
           shape_text(*captures[i].rank, row), rounded(row.amax),
           counted(row.nan + row.positive_infinity + row.negative_infinity), captures[i].path});
  }
  return '\n' + paint(s, ink::bold, fmt::format("Captures ({})", counted(captures.size()))) + '\n' +
         (captures.empty() ? std::string() : t.text(s)) + residue(s, captures.size(), "");
}

}  // namespace

std::vector<shown> select_captures(const model::run& run, const model::selection& select,
                                   std::string_view tensor) {
  std::vector<shown> list;
  const bool whole = select.steps.empty() && select.scopes.empty() && select.ops.empty();
  for (const model::rank_data& rank : run.ranks) {
    if (!select.has_rank(rank.rank)) continue;
    const auto calls = model::call_numbers(rank);
    for (const model::capture_row& row : rank.captures) {
      const std::size_t at = row.op == 0 ? rank.ops.size() : model::find_op(rank, row.op);
      shown item{&rank, &row, at < rank.ops.size() ? &rank.ops[at] : nullptr, {}};
      if (item.op != nullptr ? !select.has(rank, *item.op) : !whole) continue;
      item.path = model::tensor_path(rank, row, calls);
      if (names(tensor, item.path)) list.push_back(std::move(item));
    }
  }
  return list;
}

std::string show_run(const model::run& run, const model::selection& select, const style& s) {
  std::string out = summary(run, s);
  for (const model::rank_data& rank : run.ranks) {
    if (!select.has_rank(rank.rank)) continue;
    out += manifest_section(rank, s);  // ranks differ in identity only: the first selected one is enough
    break;
  }
  return out + ops_section(run, select, s) + captures_section(select_captures(run, select, ""), s);
}

}  // namespace numdiff::report

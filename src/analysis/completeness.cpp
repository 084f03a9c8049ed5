#include "analysis/completeness.hpp"

#include <algorithm>
#include <cmath>

namespace numdiff::analysis {

namespace {

double badness(const table_row& row) {
  const double local = row.limit > 0 ? row.local_ratio / row.limit : 0;
  const double apart = std::isnan(row.apart.relative_l2) ? 0 : std::min(row.apart.relative_l2, 1e6);
  return (row.verdict == verdict::beyond ? 1e9 : 0) + std::min(local, 1e6) * 10 + std::min(apart, 1.0);
}

}  // namespace

std::string plural(std::uint64_t n, std::string_view what) {
  return std::to_string(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

run_summary summary_of(const run_index& run) {
  run_summary s;
  s.path = run.run().path;
  s.run_id = run.run().run_id;
  s.world_size = run.run().world_size;
  s.ranks = static_cast<std::int32_t>(run.run().ranks.size());
  s.ops = static_cast<std::uint64_t>(
      std::ranges::count_if(run.ops(), [](const logical_op& op) { return !op.outside; }));
  s.captures = run.captures().size();
  s.closed = std::ranges::all_of(run.run().ranks, &model::rank_data::closed);
  return s;
}

run_summary summary_of(const model::run& run) {
  symbols names;
  return summary_of(run_index(run, names, {}));
}

namespace {

// Ranks that died while others went on: what they would have held is not there. One that died behind the last
// op of all lacks nothing.
void note_early_ends(const run_index& run, const std::string& name, std::vector<std::string>& because) {
  const std::vector<model::rank_data>& ranks = run.run().ranks;
  if (run.run().world_size < 2) return;
  std::vector<std::size_t> reached(ranks.size(), 0);  // behind the last op of each
  std::size_t end = 0;
  for (std::size_t i = 0; i < run.ops().size(); ++i) {
    if (run.ops()[i].outside) continue;
    end = i + 1;
    for (const member& m : run.ops()[i].members) reached[m.rank] = end;
  }
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].closed || !run.reads(r) || reached[r] == end) continue;
    std::string text = "rank " + std::to_string(ranks[r].rank) + " of " + name + " ended early";
    if (reached[r] > 0) {
      const logical_op& last = run.ops()[reached[r] - 1];
      text += ", in or after " + text_of(run.place_of(last)) + " of step " + std::to_string(last.step);
    }
    because.push_back(std::move(text));
  }
}

}  // namespace

std::uint64_t note_missing(const run_index& run, const std::string& name, diagnosis& result) {
  std::uint64_t dropped = run.orphans(), cut = 0, values = 0, sketches = 0;
  for (const model::rank_data& rank : run.run().ranks) {
    dropped += rank.drops.captures;
    values += rank.drops.values;
    sketches += rank.drops.sketches;
    cut += rank.cut_rows;
  }
  auto& because = result.incomplete_because;
  if (dropped > 0) because.push_back(plural(dropped, "capture") + " dropped while recording " + name);
  if (cut > 0) because.push_back(plural(cut, "row") + " cut off at the end of " + name);
  if (!run.run().missing.empty()) {
    std::string ranks;
    for (const std::int32_t r : run.run().missing) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    because.push_back("no file of rank " + ranks + " of " + name);
  }
  note_early_ends(run, name, because);
  const auto without = [&](std::uint64_t count, const char* what) {
    if (count == 0) return;
    result.warnings.push_back(what + (" of " + plural(count, "capture") + " of " + name) +
                              " dropped while recording: no room in the queue or budget");
  };
  without(values, "values");
  without(sketches, "sketches");
  for (const std::string& w : run.run().warnings) result.warnings.push_back(w);
  return dropped;
}

void keep_worst(std::vector<table_row>& rows, std::size_t limit) {
  const auto worse = [](const table_row& a, const table_row& b) { return badness(a) > badness(b); };
  std::ranges::stable_sort(rows, worse);
  if (rows.size() > limit) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(limit), rows.end());
}

}  // namespace numdiff::analysis

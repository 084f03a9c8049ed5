// What a softmax reads, directly or through masks, scales, sums and casts.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "analysis/comparer.hpp"

namespace numdiff::analysis {

namespace {

// What a program does to scores between their product and the softmax.
bool passes_scores_on(std::string_view kind) {
  constexpr std::string_view kinds[] = {"mask",     "scale",  "add",  "subtract",
                                        "multiply", "divide", "cast", "copy"};
  return std::ranges::find(kinds, kind) != std::end(kinds);
}

constexpr int most_hops = 6;

}  // namespace

// Marks what the reads of an op were written as, and what that was made of.
void judged_run::mark_sources(const logical_op& op, int hops, std::vector<bool>& feeds) const {
  for (std::uint32_t i = 0; i < op.captures && hops > 0; ++i) {
    const auto at = static_cast<std::int32_t>(op.first_capture + i);
    const logical_capture& c = index.captures()[static_cast<std::size_t>(at)];
    if (c.written || c.role == role::scalar) continue;
    const std::int32_t from = flow.of(at).from.from;
    if (from < 0 || flow.of(at).from.origin < origin::moved || feeds[static_cast<std::size_t>(from)])
      continue;
    feeds[static_cast<std::size_t>(from)] = true;
    const logical_op& writer = index.ops()[index.captures()[static_cast<std::size_t>(from)].op];
    if (passes_scores_on(index.kind_of(writer))) mark_sources(writer, hops - 1, feeds);
  }
}

std::vector<bool> judged_run::find_softmax_inputs() const {
  std::vector<bool> feeds(index.captures().size());
  for (const logical_op& op : index.ops())
    if (index.kind_of(op) == "softmax") mark_sources(op, most_hops, feeds);
  return feeds;
}

}  // namespace numdiff::analysis

// What is read as a root or a divisor, directly or through masks, scales, sums and casts, and what as a
// scale.
#include <string_view>

#include "analysis/comparer.hpp"

namespace numdiff::analysis {

namespace {

bool passes(std::string_view kind) {
  return kind == "mask" || kind == "scale" || kind == "add" || kind == "cast";
}

}  // namespace

void judged_run::mark_writers(std::int32_t read, std::vector<bool>& feeds) const {
  for (int hops = 0; hops < 3 && read >= 0; ++hops) {
    const link& from = flow.of(read).from;
    if (from.from < 0 || from.origin < origin::moved) return;
    feeds[static_cast<std::size_t>(from.from)] = true;
    const logical_op& writer = index.ops()[index.captures()[static_cast<std::size_t>(from.from)].op];
    if (!passes(index.kind_of(writer))) return;
    read = -1;
    for (std::uint32_t k = 0; k < writer.captures && read < 0; ++k) {
      const auto candidate = static_cast<std::int32_t>(writer.first_capture + k);
      const logical_capture& c = index.captures()[static_cast<std::size_t>(candidate)];
      if (!c.written && c.role != role::scalar) read = candidate;
    }
  }
}

std::vector<bool> judged_run::find_roots_and_divisors() const {
  std::vector<bool> feeds(index.captures().size());
  for (const logical_op& op : index.ops()) {
    const std::string_view kind = index.kind_of(op);
    const bool roots = kind == "square_root" || kind == "reciprocal_square_root";
    if (!roots && kind != "divide") continue;
    int operand = 0;
    for (std::uint32_t i = 0; i < op.captures; ++i) {
      const auto at = static_cast<std::int32_t>(op.first_capture + i);
      const logical_capture& c = index.captures()[static_cast<std::size_t>(at)];
      if (c.written || c.role == role::scalar) continue;
      if (roots || operand == 1) mark_writers(at, feeds);
      ++operand;
    }
  }
  return feeds;
}

std::set<std::pair<std::uint64_t, std::uint64_t>> judged_run::find_scales() const {
  std::set<std::pair<std::uint64_t, std::uint64_t>> digests;
  for (const logical_capture& c : index.captures()) {
    for (const member& m : c.members) {
      const model::capture_row& row = index.capture_row_of(m);
      if (row.scaling != 0) digests.emplace(row.scale_digest0, row.scale_digest1);
    }
  }
  return digests;
}

}  // namespace numdiff::analysis

// What a softmax reads, directly or through masks, scales, sums and casts.
#include "analysis/comparer.hpp"

namespace numdiff::analysis {

std::vector<bool> judged_run::find_softmax_inputs() const {
  std::vector<bool> feeds(index.captures().size());
  for (const logical_op& op : index.ops()) {
    if (index.kind_of(op) != "softmax") continue;
    for (std::uint32_t i = 0; i < op.captures; ++i) {
      std::int32_t at = static_cast<std::int32_t>(op.first_capture + i);
      if (index.captures()[static_cast<std::size_t>(at)].written) continue;
      for (int hops = 0; hops < 3; ++hops) {
        const std::int32_t from = flow.of(at).from.from;
        if (from < 0 || flow.of(at).from.origin < origin::moved) break;
        feeds[static_cast<std::size_t>(from)] = true;
        const logical_op& writer = index.ops()[index.captures()[static_cast<std::size_t>(from)].op];
        const std::string_view kind = index.kind_of(writer);
        if (kind != "mask" && kind != "scale" && kind != "add" && kind != "cast") break;
        at = -1;
        for (std::uint32_t k = 0; k < writer.captures && at < 0; ++k) {
          const auto candidate = static_cast<std::int32_t>(writer.first_capture + k);
          const logical_capture& c = index.captures()[static_cast<std::size_t>(candidate)];
          if (!c.written && c.role != role::scalar) at = candidate;
        }
        if (at < 0) break;
      }
    }
  }
  return feeds;
}

}  // namespace numdiff::analysis

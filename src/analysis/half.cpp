#include "analysis/half.hpp"

#include <string_view>

#include "analysis/align.hpp"

namespace numdiff::analysis {

std::int32_t half::first_read(const logical_op& op) const {
  for (std::uint32_t i = 0; i < op.captures; ++i) {
    const auto at = static_cast<std::int32_t>(op.first_capture + i);
    const logical_capture& c = capture(at);
    if (!c.written && c.role != role::scalar && c.role != role::scale) return at;
  }
  return -1;
}

std::int32_t half::behind(std::int32_t c) const {
  for (int hops = 0; hops < 16; ++hops) {
    const std::int32_t w = writer(c);
    if (w < 0) return w;
    const logical_op& between = op(static_cast<std::int32_t>(capture(w).op));
    const std::string_view kind = run.kind_of(between);
    if (!is_auxiliary(kind, between.phase) || is_collective(kind)) return w;
    c = first_read(between);
    if (c < 0) return w;
  }
  return -1;
}

}  // namespace numdiff::analysis

#include "analysis/nonfinite.hpp"

#include <algorithm>

namespace numdiff::analysis {

std::int64_t unwanted(std::string_view kind, const merged_capture& own, const merged_capture* partner) {
  std::int64_t negative = own.negative_infinity;
  if (kind == "mask") negative = 0;
  if (partner != nullptr) negative = std::max<std::int64_t>(0, negative - partner->negative_infinity);
  return own.nan + own.positive_infinity + negative;
}

std::int64_t unwanted_read(std::string_view kind, const merged_capture& own, const merged_capture* partner) {
  return kind == "softmax" ? own.nan + own.positive_infinity : unwanted(kind, own, partner);
}

bool only_passes_on(const judgement& j) noexcept {
  return j.nonfinite_replayed > 0 && j.nonfinite_created == 0 && j.cause_hint != "masked-value-leak";
}

bool same_nonfinite(const local_judgement* a, const local_judgement* b) {
  return a != nullptr && b != nullptr && a->worst.nonfinite_replayed > 0 &&
         a->worst.nonfinite_replayed == b->worst.nonfinite_replayed &&
         a->worst.cause_hint == b->worst.cause_hint;
}

}  // namespace numdiff::analysis

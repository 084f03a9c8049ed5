#include "analysis/cast_losses.hpp"

#include <algorithm>
#include <cmath>

#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

// Whether a cast made zero of ten times as many values as of normal ones whose amax, at 4 sigma, is the
// format's maximum (and of more than 1 %): then a small group may be lost, which weighs nothing in a
// distance.
bool flushes(const merged_capture& written, const std::vector<item>& all) {
  const format f = format_of(written.type);
  if (!f.is_float()) return false;
  const double density = std::sqrt(2 / 3.14159265358979324);  // of |x| / sigma at 0
  const double of_normal = density * 4 * (f.min_subnormal() / 2) / f.max_finite();
  for (const item& in : all) {
    if (in.any().written || in.any().role == role::scalar || !in.test_merged) continue;
    const auto flushed = static_cast<double>(written.zero - in.test_merged->zero);
    return flushed > std::max(0.01, 10 * of_normal) * static_cast<double>(written.count);
  }
  return false;
}

// Whether a cast reads whole numbers that follow each other, by their mean and spread, past those that its
// format tells apart.
bool counts_beyond(const merged_capture& written, const std::vector<item>& all) {
  const format f = format_of(written.type);
  if (!f.is_float()) return false;
  for (const item& in : all) {
    if (in.any().written || in.any().role == role::scalar || !in.test_merged) continue;
    const merged_capture& m = *in.test_merged;
    const auto count = static_cast<double>(m.count);
    if (m.count < 16 || m.excluded() > 0 || m.sum != m.sum_abs) return false;
    const double mean = m.sum / count, length = 2 * (m.amax - mean) + 1;
    const double spread = (length * length - 1) / 12;
    const bool follow = length >= 16 && std::abs(length - std::nearbyint(length)) < 1e-6 * length &&
                        std::abs(m.sum_sq / count - mean * mean - spread) < 1e-6 * spread;
    return follow && m.amax > std::ldexp(1.0, f.precision());
  }
  return false;
}

// One format and one set of scales and zero points.
bool same_grid(const merged_capture& r, const merged_capture& t) {
  return r.type == t.type && r.has_digest && t.has_digest &&
         std::equal(r.digest.begin() + 2, r.digest.end(), t.digest.begin() + 2);
}

}  // namespace

const char* what_cast_may_lose(std::string_view kind, const merged_capture& reference,
                               const merged_capture& test, const std::vector<item>& all, bool unequal) {
  if (kind != "cast") return nullptr;
  if (flushes(test, all)) return "a cast made many values zero, which weigh nothing in a distance";
  if (counts_beyond(test, all)) return "positions or counters that the format may not tell apart";
  if (!unequal && same_grid(reference, test)) return "equal numbers were rounded to one format in two ways";
  return nullptr;
}

}  // namespace numdiff::analysis

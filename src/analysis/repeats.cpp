#include "analysis/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "analysis/index.hpp"
#include "numdiff/dtype.hpp"

namespace numdiff::analysis {

bool repeats(const run_index& run, const merged_capture& m) {
  constexpr double uneven = 0.2;  // of (sum |x|)^2 over n sum x^2; 0.64 for normal numbers
  constexpr std::size_t few = 4;  // octaves
  if (bytes_of(m.type) <= 2) return true;
  const auto n = static_cast<double>(m.count - m.excluded() - m.zero);
  const double spread = n > 0 && m.sum_sq > 0 ? m.sum_abs * m.sum_abs / (n * m.sum_sq) : 1;
  if (spread > 0.999 || spread < uneven) return true;
  std::set<std::size_t> octaves;
  for (const member& part : m.parts) {
    const model::capture_row& row = run.capture_row_of(part);
    const model::rank_data& rank = run.rank_of(part);
    const std::span<const std::byte> all = rank.histograms;
    if (row.histogram < 0 || static_cast<std::size_t>(row.histogram) >= all.size()) return false;
    const auto first = static_cast<std::size_t>(row.histogram);
    const model::histogram h = model::decode_histogram(
        all.subspan(first, std::min<std::size_t>(row.histogram_bytes, all.size() - first)));
    for (std::size_t i = 0; i < h.counts.size(); ++i)
      if (h.counts[i] > 0) octaves.insert(static_cast<std::size_t>(h.first + 2048) + i);
  }
  return octaves.size() <= few;
}

double over_deviation(const merged_capture& m) noexcept {
  const auto n = static_cast<double>(m.count - m.excluded());
  if (!(n > 0) || !(m.sum_sq > 0)) return 1;
  const double square = m.sum_sq / n, mean = m.sum / n, variance = square - mean * mean;
  return variance > 1e-13 * square ? std::sqrt(square / variance) : HUGE_VAL;
}

}  // namespace numdiff::analysis

#include "analysis/addends.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "analysis/expect/decode.hpp"

namespace numdiff::analysis {

namespace {

constexpr double nearer = 0.05;

double distance(const std::vector<double>& a, double factor, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (factor * a[i] - b[i]) * (factor * a[i] - b[i]);
  return std::sqrt(sum);
}

}  // namespace

addends_result add_up_to(const run_index& run, const logical_capture& capture, value_reader& reader) {
  if (reader.size() <= 0) return {};
  std::vector<double> whole(static_cast<std::size_t>(reader.size()));
  reader.read<double>(0, whole);
  std::set<std::pair<std::uint64_t, std::uint64_t>> taken;
  std::vector<double> sum(whole.size(), 0.0);
  double nearest = std::numeric_limits<double>::infinity();
  for (const member& m : capture.members) {
    const model::capture_row& row = run.capture_row_of(m);
    if (row.payload < 0) return {};
    if (!taken.emplace(row.digest0, row.digest1).second) continue;
    tensor t;
    try {
      t = decode(run.rank_of(m), row);
    } catch (const std::runtime_error&) {
      return {};
    }
    if (t.values.size() != whole.size()) return {};
    for (std::size_t i = 0; i < whole.size(); ++i) sum[i] += t.values[i];
    nearest = std::min(nearest, distance(t.values, 1, whole));
  }
  if (taken.size() < 2 || !(nearest > 0)) return {};
  const double as_sum = distance(sum, 1, whole) / nearest;
  const double as_mean = distance(sum, 1 / static_cast<double>(taken.size()), whole) / nearest;
  if (as_sum <= nearer) return {addends::sum, as_sum};
  if (as_mean <= nearer) return {addends::mean, as_mean};
  return {};
}

}  // namespace numdiff::analysis

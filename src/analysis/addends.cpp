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

// `replica(m)`: what a member holds in the form of `whole`; empty: it cannot be read.
template <class F>
addends_result combined(const run_index& run, const logical_capture& capture,
                        const std::vector<double>& whole, const F& replica) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> taken;
  std::vector<double> sum(whole.size(), 0.0);
  double nearest = std::numeric_limits<double>::infinity();
  for (const member& m : capture.members) {
    const model::capture_row& row = run.capture_row_of(m);
    if (!taken.emplace(row.digest0, row.digest1).second) continue;
    const std::vector<double> values = replica(m, row);
    if (values.size() != whole.size()) return {};
    for (std::size_t i = 0; i < whole.size(); ++i) sum[i] += values[i];
    nearest = std::min(nearest, distance(values, 1, whole));
  }
  if (taken.size() < 2 || !(nearest > 0)) return {};
  const double as_sum = distance(sum, 1, whole) / nearest;
  const double as_mean = distance(sum, 1 / static_cast<double>(taken.size()), whole) / nearest;
  if (as_sum <= nearer) return {addends::sum, as_sum};
  if (as_mean <= nearer) return {addends::mean, as_mean};
  return {};
}

}  // namespace

addends_result add_up_to(const run_index& run, const logical_capture& capture, value_reader& reader) {
  if (reader.size() <= 0) return {};
  std::vector<double> whole(static_cast<std::size_t>(reader.size()));
  reader.read<double>(0, whole);
  return combined(run, capture, whole, [&](const member& m, const model::capture_row& row) {
    if (row.payload < 0) return std::vector<double>();
    try {
      return decode(run.rank_of(m), row).values;
    } catch (const std::runtime_error&) {
      return std::vector<double>();
    }
  });
}

addends_result add_up_to(const run_index& run, const logical_capture& capture, const run_index& other,
                         const merged_capture& whole) {
  if (!whole.has_sketch || whole.excluded() > 0) return {};
  const sketch all = sketch_of(other, whole);
  std::vector<double> sums(all.begin(), all.end());
  for (double& s : sums) s /= whole.pending_factor;
  return combined(run, capture, sums, [&](const member& m, const model::capture_row& row) {
    const model::rank_data& rank = run.rank_of(m);
    const std::int64_t left_out = row.nan + row.positive_infinity + row.negative_infinity + row.hidden +
                                  row.maximum_positive + row.maximum_negative;
    if (row.sketch < 0 || left_out > 0) return std::vector<double>();
    const sketch& own = rank.sketches[static_cast<std::size_t>(row.sketch)];
    std::vector<double> values(own.begin(), own.end());
    for (double& v : values) v /= row.pending_factor;
    return values;
  });
}

}  // namespace numdiff::analysis

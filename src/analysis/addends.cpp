#include "analysis/addends.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "analysis/expect/decode.hpp"
#include "analysis/measure.hpp"

namespace numdiff::analysis {

bool add_up_to(const run_index& run, const logical_capture& capture, value_reader& reader) {
  if (reader.size() <= 0) return false;
  std::vector<double> whole(static_cast<std::size_t>(reader.size()));
  reader.read<double>(0, whole);
  std::set<std::pair<std::uint64_t, std::uint64_t>> taken;
  std::vector<double> sum(whole.size(), 0.0), magnitude(whole.size(), 0.0);
  double unit = 0;
  for (const member& m : capture.members) {
    const model::capture_row& row = run.capture_row_of(m);
    if (row.payload < 0) return false;
    if (!taken.emplace(row.digest0, row.digest1).second) continue;
    tensor t;
    try {
      t = decode(run.rank_of(m), row);
    } catch (const std::runtime_error&) {
      return false;
    }
    if (t.values.size() != whole.size()) return false;
    unit = std::max(unit, unit_roundoff(t.type));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      sum[i] += t.values[i];
      magnitude[i] += std::abs(t.values[i]);
    }
  }
  if (taken.size() < 2) return false;
  bool any = false;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (!(std::abs(sum[i] - whole[i]) <= 4 * unit * magnitude[i])) return false;
    any = any || whole[i] != 0;
  }
  return any;
}

}  // namespace numdiff::analysis

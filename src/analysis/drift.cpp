#include "analysis/drift.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "analysis/align.hpp"
#include "analysis/completeness.hpp"
#include "analysis/measure.hpp"
#include "analysis/merge.hpp"
#include "analysis/placement.hpp"

namespace numdiff::analysis {

namespace {

// What one layer has in one step.
struct layer_step {
  double squares = 0, largest = 0;
  std::uint64_t tensors = 0;
  std::string worst;
};

struct layer_sums {
  std::map<std::int64_t, layer_step> steps;
  double floor = 0;
};

// A constant, or a few numbers, has no error that means anything.
constexpr std::int64_t fewest_elements = 16;

class drift_measure {
 public:
  drift_measure(const model::run& reference, const model::run& test, const model::selection& select)
      : reference_(reference, names_, select), test_(test, names_, select) {}

  drift_report run() {
    report_.reference = summary_of(reference_);
    report_.test = summary_of(test_);
    for (const op_pair& pair : align(reference_, test_)) {
      if (pair.fate == fate::matched && pair.selected) add(pair);
    }
    for (const std::uint32_t scope : order_) report_.layers.push_back(layer_of(scope));
    find_first();
    conclude();
    return std::move(report_);
  }

 private:
  static bool counts(const logical_op& op, const logical_capture& c) {
    if (op.outside || c.role == role::scalar || c.role == role::scale) return false;
    const bool forward =
        op.phase == phase::forward || op.phase == phase::none || op.phase == phase::evaluation;
    return forward && (c.written || c.role == role::weight);
  }

  void add(const op_pair& pair) {
    const logical_op& op = test_.ops()[static_cast<std::size_t>(pair.test)];
    for (const capture_pair& c : align_captures(reference_, test_, pair)) {
      if (c.reference < 0 || c.test < 0) continue;
      const logical_capture& here = test_.captures()[static_cast<std::size_t>(c.test)];
      if (!counts(op, here)) continue;
      const merged_capture p =
          merge(reference_, reference_.captures()[static_cast<std::size_t>(c.reference)], left_);
      const merged_capture q = merge(test_, here, right_);
      if (is_integer(q.type) || q.count < fewest_elements) continue;
      const std::optional<double> error = distance(p, q);
      if (!error) {
        ++report_.not_measured;
        continue;
      }
      ++report_.compared;
      steps_.insert(op.step);
      const auto [at, fresh] = layers_.try_emplace(op.scope);
      if (fresh) order_.push_back(op.scope);
      at->second.floor = std::max({at->second.floor, unit_roundoff(p.type), unit_roundoff(q.type)});
      layer_step& step = at->second.steps[op.step];
      step.squares += *error * *error;
      ++step.tensors;
      if (step.worst.empty() || *error > step.largest) {
        step.largest = *error;
        step.worst = std::string(names_.text(op.name)) + " : " + std::string(names_.text(here.name));
      }
    }
  }

  // |test - reference| / |reference|, nothing when what was recorded does not tell.
  std::optional<double> distance(const merged_capture& p, const merged_capture& q) {
    if (equal(p, q)) return 0;
    const std::optional<measured> values = measure_values(reference_, p, left_, test_, q, right_);
    const distances d = values ? values->apart : measure_sketches(reference_, p, test_, q);
    if ((!d.from_values && !d.from_sketch) || d.contaminated || d.nan_mismatch + d.inf_mismatch > 0 ||
        !std::isfinite(d.relative_l2))
      return std::nullopt;
    return d.relative_l2;
  }

  layer_drift layer_of(std::uint32_t scope) {
    const layer_sums& sums = layers_.at(scope);
    layer_drift layer;
    layer.scope = names_.text(scope);
    layer.floor = sums.floor;
    for (const auto& [step, seen] : sums.steps) {
      layer.points.push_back({step, std::sqrt(seen.squares / static_cast<double>(seen.tensors))});
      layer.worst = seen.worst;
    }
    layer.growth = fit_growth(layer.points, layer.floor);
    return layer;
  }

  // Of the layers that change first, the first that is executed and is off as much as any of them: an update
  // carries a little of the error to layers that are executed before, in the same step.
  void find_first() {
    constexpr double carried = 0.1;
    std::int64_t earliest = -1;
    for (const layer_drift& l : report_.layers)
      if (l.drifts() && (earliest < 0 || l.from_step() < earliest)) earliest = l.from_step();
    double largest = 0;
    for (const layer_drift& l : report_.layers)
      if (l.drifts() && l.from_step() == earliest)
        largest = std::max(largest, l.points[l.growth.change_at].error);
    for (std::size_t i = 0; i < report_.layers.size() && report_.first < 0; ++i) {
      const layer_drift& l = report_.layers[i];
      if (l.drifts() && l.from_step() == earliest && l.points[l.growth.change_at].error >= carried * largest)
        report_.first = static_cast<int>(i);
    }
  }

  void conclude() {
    report_.steps = steps_.size();
    auto& because = report_.incomplete_because;
    diagnosis files;
    note_missing(reference_, "the reference", files);
    note_missing(test_, "the test", files);
    because = std::move(files.incomplete_because);
    report_.warnings = std::move(files.warnings);
    if (report_.compared == 0) {
      because.emplace_back("nothing was compared");
    } else if (steps_.size() < fewest_growth_points) {
      because.push_back(plural(steps_.size(), "step") + " in both runs, a law needs " +
                        std::to_string(fewest_growth_points));
    }
    if (report_.not_measured > 0)
      report_.warnings.push_back(plural(report_.not_measured, "capture") +
                                 " whose distance the recorded levels do not tell");
    report_.verdict = report_.first >= 0 ? outcome::differ
                      : because.empty()  ? outcome::agree
                                         : outcome::incomplete;
  }

  symbols names_;
  run_index reference_, test_;
  placement_cache left_, right_;
  std::unordered_map<std::uint32_t, layer_sums> layers_;  // by scope
  std::vector<std::uint32_t> order_;
  std::set<std::int64_t> steps_;
  drift_report report_;
};

}  // namespace

std::int64_t layer_drift::from_step() const {
  return drifts() ? points[growth.change_at].step : -1;
}

double layer_drift::expected(std::int64_t step) const {
  if (points.empty()) return 0;
  const std::size_t begin = growth.changes ? growth.change_at - 1 : 0;
  return growth.level * static_cast<double>(1 + std::max<std::int64_t>(0, step - points[begin].step));
}

drift_report measure_drift(const model::run& reference, const model::run& test,
                           const model::selection& select) {
  return drift_measure(reference, test, select).run();
}

const char* name_of(growth_law law) noexcept {
  switch (law) {
    case growth_law::none: return "none";
    case growth_law::root: return "root";
    case growth_law::linear: return "linear";
    case growth_law::exponential: return "exponential";
    case growth_law::unknown: break;
  }
  return "unknown";
}

}  // namespace numdiff::analysis

#include "numdiff/version.hpp"
#include "report/drift_report.hpp"
#include "report/json_value.hpp"

namespace numdiff::report {

namespace {

using analysis::layer_drift;

ordered run_json(const analysis::run_summary& r) {
  ordered j;
  j["path"] = r.path;
  j["run_id"] = r.run_id;
  j["world_size"] = r.world_size;
  j["ranks"] = r.ranks;
  j["captures"] = r.captures;
  j["closed"] = r.closed;
  return j;
}

ordered change_json(const layer_drift& l) {
  if (!l.growth.changes) return nullptr;
  ordered j;
  j["step"] = l.points[l.growth.change_at].step;
  j["earliest"] = l.points[l.growth.earliest].step;
  j["latest"] = l.points[l.growth.latest].step;
  return j;
}

ordered layer_json(const layer_drift& l) {
  ordered j;
  j["scope"] = l.scope;
  j["drifts"] = l.drifts();
  j["law"] = analysis::name_of(l.growth.law);
  j["confidence"] = l.growth.confidence;
  j["change"] = change_json(l);
  j["from_step"] = json_index(l.from_step());
  j["error_before"] = json_number(l.growth.level);
  j["error_last"] = json_number(l.growth.last);
  j["expected_last"] = json_number(l.growth.expected);
  j["rate"] = l.growth.rate > 0 ? json_number(l.growth.rate) : ordered(nullptr);
  j["largest"] = json_text(l.worst);
  j["steps"] = ordered::array();
  for (const analysis::growth_point& p : l.points) {
    ordered step;
    step["step"] = p.step;
    step["error"] = json_number(p.error);
    step["expected"] = json_number(l.expected(p.step));
    j["steps"].push_back(std::move(step));
  }
  return j;
}

const char* verdict_of(analysis::outcome o) noexcept {
  return o == analysis::outcome::agree ? "steady" : o == analysis::outcome::differ ? "drift" : "incomplete";
}

}  // namespace

std::string json(const analysis::drift_report& r) {
  ordered j;
  j["schema"] = "numdiff-drift/1";
  j["numdiff"] = std::to_string(NUMDIFF_VERSION_MAJOR) + "." + std::to_string(NUMDIFF_VERSION_MINOR) + "." +
                 std::to_string(NUMDIFF_VERSION_PATCH);
  j["verdict"] = verdict_of(r.verdict);
  j["reference"] = run_json(r.reference);
  j["test"] = run_json(r.test);
  j["first"] = r.first < 0 ? ordered(nullptr) : layer_json(r.layers[static_cast<std::size_t>(r.first)]);
  j["layers"] = ordered::array();
  for (const layer_drift& l : r.layers) j["layers"].push_back(layer_json(l));
  j["totals"] = {{"steps", r.steps}, {"compared", r.compared}, {"not_measured", r.not_measured}};
  j["incomplete_because"] = r.incomplete_because;
  j["warnings"] = r.warnings;
  return json_dump(j);
}

}  // namespace numdiff::report

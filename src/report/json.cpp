#include "report/json.hpp"

#include <fmt/format.h>

#include "analysis/next_capture.hpp"
#include "model/path.hpp"
#include "numdiff/version.hpp"
#include "report/json_value.hpp"

namespace numdiff::report {

namespace {

ordered place_json(const analysis::place& p) {
  ordered j;
  j["step"] = json_index(p.step);
  j["update"] = json_index(p.update);
  j["micro_batch"] = json_index(p.micro_batch);
  j["phase"] = json_text(model::phase_name(p.phase));
  j["scope"] = json_text(p.scope);
  j["op"] = json_text(p.op);
  j["call"] = p.op.empty() ? ordered(nullptr) : ordered(p.call);
  j["role"] = p.role == role::none ? ordered(nullptr) : ordered(model::role_name(p.role));
  j["tensor"] = json_text(p.tensor);
  j["usage"] = json_text(model::usage_name(p.usage));
  j["ranks"] = p.ranks;
  j["all_ranks"] = p.all_ranks;
  return j;
}

ordered finding_json(const analysis::finding& f) {
  ordered j = place_json(f.where);
  j["rule"] = f.rule;
  j["symptom"] = f.symptom;
  j["cause"] = f.cause;
  j["message"] = f.message;
  j["evidence"] = ordered::object();
  for (const auto& [name, value] : f.evidence) j["evidence"][name] = json_number(value);
  j["control"] = f.control;
  j["brought_by"] = json_text(analysis::name_of(f.brought_by));
  j["seen_in"] = analysis::name_of(f.seen_in);
  j["benign"] = f.benign;
  j["root"] = f.is_root;
  j["explains"] = f.explains;
  return j;
}

ordered optional_json(const std::optional<analysis::finding>& f) {
  return f ? finding_json(*f) : ordered(nullptr);
}

ordered list_json(const std::vector<analysis::finding>& findings) {
  ordered j = ordered::array();
  for (const auto& f : findings) j.push_back(finding_json(f));
  return j;
}

ordered side_json(const analysis::side_totals& t) {
  ordered j;
  j["captures"] = t.captures;
  j["matched"] = t.matched;
  j["auxiliary"] = t.auxiliary;
  j["bridged"] = t.bridged;
  j["only_there"] = t.only_there;
  j["dropped"] = t.dropped;
  j["auxiliary_undecided"] = t.auxiliary_undecided;
  return j;
}

ordered totals_json(const analysis::totals& t) {
  ordered j;
  j["matched"] = t.matched;
  j["equal"] = t.equal;
  j["within"] = t.within;
  j["beyond"] = t.beyond;
  j["undecided"] = t.undecided;
  j["not_comparable"] = t.not_comparable;
  j["reference"] = side_json(t.reference);
  j["test"] = side_json(t.test);
  return j;
}

ordered distances_json(const analysis::distances& d) {
  ordered j;
  j["from"] = d.from_values ? ordered("values") : d.from_sketch ? ordered("sketch") : ordered(nullptr);
  j["contaminated"] = d.contaminated;
  j["relative_l2"] = json_known(d.relative_l2);
  j["worst_absolute"] = json_known(d.worst_absolute);
  j["worst_relative"] = json_known(d.worst_relative);
  j["worst_ulp"] = json_known(d.worst_ulp);
  j["worst_index"] = json_index(d.worst_index);
  j["bias"] = json_known(d.bias);
  j["bias_z"] = json_known(d.bias_z);
  j["cosine"] = json_known(d.cosine);
  j["factor"] = json_known(d.factor);
  j["factor_residual"] = json_known(d.factor_residual);
  j["compared"] = d.compared;
  j["different"] = d.different;
  j["nan_mismatch"] = d.nan_mismatch;
  j["inf_mismatch"] = d.inf_mismatch;
  j["against_zero"] = d.against_zero;
  return j;
}

ordered worst_json(const std::vector<analysis::table_row>& rows) {
  ordered list = ordered::array();
  for (const auto& row : rows) {
    ordered j = place_json(row.where);
    j["verdict"] = analysis::name_of(row.verdict);
    j["reference_dtype"] = name_of(row.reference_dtype);
    j["test_dtype"] = name_of(row.test_dtype);
    j["distances"] = distances_json(row.apart);
    j["local_ratio"] = row.local_ratio > 0 ? json_number(row.local_ratio) : ordered(nullptr);
    j["limit"] = row.limit > 0 ? json_number(row.limit) : ordered(nullptr);
    j["reason"] = json_text(row.reason);
    list.push_back(std::move(j));
  }
  return list;
}

ordered run_json(const analysis::run_summary& r) {
  ordered j;
  j["path"] = r.path;
  j["run_id"] = r.run_id;
  j["world_size"] = r.world_size;
  j["ranks"] = r.ranks;
  j["ops"] = r.ops;
  j["captures"] = r.captures;
  j["closed"] = r.closed;
  return j;
}

const char* class_name(manifest_class klass) {
  switch (klass) {
    case manifest_class::numeric: return "numeric";
    case manifest_class::performance: return "performance";
    case manifest_class::identity: return "identity";
    case manifest_class::record: return "record";
  }
  return "record";
}

ordered manifest_json(const std::vector<analysis::manifest_difference>& differences) {
  ordered list = ordered::array();
  for (const auto& d : differences) {
    ordered j;
    j["key"] = d.key;
    j["class"] = class_name(d.klass);
    j["reference"] = json_text(d.reference);
    j["test"] = json_text(d.test);
    list.push_back(std::move(j));
  }
  return list;
}

ordered head_json(const char* mode, const char* verdict, const analysis::diagnosis& d) {
  ordered j;
  j["schema"] = "numdiff-report/1";
  j["numdiff"] = fmt::format("{}.{}.{}", NUMDIFF_VERSION_MAJOR, NUMDIFF_VERSION_MINOR, NUMDIFF_VERSION_PATCH);
  j["mode"] = mode;
  j["verdict"] = verdict;
  j["complete"] = d.complete;
  j["health"] = analysis::name_of(d.health);
  return j;
}

void add_findings(ordered& j, const analysis::diagnosis& d) {
  j["first_divergence"] = optional_json(d.first_divergence);
  j["roots"] = list_json(d.roots);
  j["nonfinite_origin"] = optional_json(d.nonfinite_origin);
  j["information_lost"] = list_json(d.information_lost);
  j["findings"] = list_json(d.findings);
}

void add_notes(ordered& j, const analysis::diagnosis& d) {
  j["next_capture"] = nullptr;
  if (d.next_capture)
    j["next_capture"] = {{"select", d.next_capture->select},
                         {"steps", json_text(d.next_capture->steps)},
                         {"level", d.next_capture->level},
                         {"shards", json_text(d.next_capture->shards)},
                         {"line", analysis::line_of(*d.next_capture)}};
  j["incomplete_because"] = d.incomplete_because;
  j["warnings"] = d.warnings;
}

ordered check_totals_json(const analysis::check_totals& t) {
  ordered j;
  j["captures"] = t.captures;
  j["in_order"] = t.in_order;
  j["faulty"] = t.faulty;
  j["undecided"] = t.undecided;
  j["given"] = t.given;
  j["dropped"] = t.dropped;
  return j;
}

ordered scales_json(const analysis::scale_use& u) {
  ordered j;
  j["tensors"] = u.tensors;
  j["measured"] = u.measured;
  j["uncalibrated"] = u.uncalibrated;
  j["cut"] = u.cut;
  for (const bool most : {false, true}) {
    ordered one;
    if (u.measured != 0) {
      one = place_json(most ? u.most_at : u.least_at);
      one["use"] = most ? u.most : u.least;
    }
    j[most ? "most" : "least"] = std::move(one);
  }
  return j;
}

}  // namespace

std::string json(const analysis::comparison& c) {
  ordered j = head_json("comparison", analysis::name_of(c.verdict), c);
  j["reference"] = run_json(c.reference);
  j["test"] = run_json(c.test);
  j["trusted"] = c.trusted ? run_json(*c.trusted) : ordered(nullptr);
  j["envelope"] = nullptr;
  if (c.envelope)
    j["envelope"] = {{"path", c.envelope->path},
                     {"runs", c.envelope->runs},
                     {"covered", c.envelope->covered},
                     {"beyond", c.envelope->beyond},
                     {"not_covered", c.envelope->not_covered}};
  add_findings(j, c);
  j["totals"] = totals_json(c.totals);
  j["worst"] = worst_json(c.worst);
  j["manifest_differences"] = manifest_json(c.manifest_differences);
  add_notes(j, c);
  return json_dump(j);
}

std::string json(const analysis::checkup& c) {
  ordered j = head_json("check", analysis::name_of(c.verdict), c);
  j["reference"] = nullptr;
  j["test"] = run_json(c.run);
  add_findings(j, c);
  j["totals"] = nullptr;
  j["check_totals"] = check_totals_json(c.totals);
  j["scales"] = scales_json(c.scales);
  j["worst"] = worst_json(c.worst);
  j["manifest_differences"] = ordered::array();
  add_notes(j, c);
  return json_dump(j);
}

}  // namespace numdiff::report

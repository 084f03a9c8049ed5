#include "report/arrays/array_json.hpp"

#include <fmt/format.h>

#include "numdiff/version.hpp"
#include "report/arrays/array_text.hpp"
#include "report/json_value.hpp"

namespace numdiff::report {

namespace {

using analysis::array_comparison;
using analysis::array_row;
using analysis::extreme;

ordered side(const analysis::arrays_side& file) {
  return {
      {"file", file.path}, {"format", file.format}, {"arrays", file.arrays}, {"attributes", file.attributes}};
}

// Where it is and what stands there; null when there is no such element.
ordered place(const extreme& e) {
  if (!e.there) return nullptr;
  return {{"index", e.index}, {"reference", e.reference}, {"test", e.test}};
}

ordered worst(const extreme& e) {
  ordered out = place(e);
  if (e.there) {
    out["value"] = json_number(static_cast<double>(e.value));
    out["exact"] = json_text(e.exact);
  }
  return out;
}

ordered row(const array_row& r) {
  ordered out = {{"name", r.name},
                 {"attribute", r.attribute},
                 {"reference_type", r.reference_type},
                 {"test_type", r.test_type},
                 {"compared", r.compared},
                 {"different", r.different},
                 {"first_different", place(r.first)},
                 {"numbers", nullptr}};
  if (!r.numeric) return out;
  out["numbers"] = {{"accepted", r.accepted},
                    {"worst_absolute", worst(r.absolute)},
                    {"worst_relative", worst(r.relative)},
                    {"worst_ulp", worst(r.ulp)},
                    {"worst_against_zero", worst(r.zero)},
                    {"against_zero", r.against_zero},
                    {"zero_signs", r.zero_signs},
                    {"relative_l2", json_number(r.relative_l2)},
                    {"bias", json_number(r.bias)},
                    {"nan_both", r.nan_both},
                    {"nan_reference", r.nan_reference},
                    {"nan_test", r.nan_test},
                    {"inf_both", r.inf_both},
                    {"inf_mismatch", r.inf_mismatch}};
  return out;
}

ordered rows(const std::vector<array_row>& all) {
  ordered out = ordered::array();
  for (const array_row& r : all) out.push_back(row(r));
  return out;
}

ordered structure(const array_comparison& c) {
  ordered out = ordered::array();
  for (const auto& d : c.structure)
    out.push_back({{"name", d.name},
                   {"what", name_of(d.kind)},
                   {"reference", json_text(d.reference)},
                   {"test", json_text(d.test)},
                   {"decides", d.decides}});
  return out;
}

ordered skipped(const array_comparison& c) {
  ordered out = ordered::array();
  for (const auto& s : c.skipped) out.push_back({{"name", s.name}, {"reason", s.reason}});
  return out;
}

ordered tolerance(const analysis::tolerance& t) {
  if (!t.any()) return nullptr;
  return {{"relative", t.relative},
          {"absolute", t.absolute},
          {"ulps", t.ulps ? ordered(*t.ulps) : ordered(nullptr)}};
}

}  // namespace

std::string json(const array_comparison& c) {
  const ordered out = {{"schema", "numdiff-arrays/1"},
                       {"numdiff", fmt::format("{}.{}.{}", NUMDIFF_VERSION_MAJOR, NUMDIFF_VERSION_MINOR,
                                               NUMDIFF_VERSION_PATCH)},
                       {"verdict", name_of(c.verdict)},
                       {"health", c.nonfinite ? "non-finite" : "ok"},
                       {"last_line", last_line(c)},
                       {"reference", side(c.reference)},
                       {"test", side(c.test)},
                       {"tolerance", tolerance(c.accepts)},
                       {"totals",
                        {{"all", c.total()},
                         {"equal", c.equal},
                         {"different", c.differing},
                         {"structure", c.structural},
                         {"only_there", c.unmatched},
                         {"not_compared", c.left_out},
                         {"elements", c.elements},
                         {"elements_different", c.elements_different}}},
                       {"structure", structure(c)},
                       {"different", rows(c.different)},
                       {"noted", rows(c.noted)},
                       {"not_compared", skipped(c)}};
  return json_dump(out);
}

}  // namespace numdiff::report

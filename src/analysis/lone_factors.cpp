// Scales that only one run has. Each is honest by itself, so nothing is wrong where the other run applies the
// factor at another place, or where a norm takes it out again; it is a fault when the runs are that factor
// apart from there on.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"

namespace numdiff::analysis {

namespace {

constexpr double same = 2e-2;    // of a factor that rounded values tell
constexpr double harmful = 0.1;  // of the norm of a result that nobody reads

bool tells_factor(std::string_view name) {
  return name == "factor" || name == "alpha" || name == "scale";
}

}  // namespace

// What the op multiplies by when it is a scale without a partner, else 1.
double comparer::lone_factor(side where, const logical_op& op) const {
  const judged_run& run = where == side::test ? test_ : reference_;
  const std::vector<std::int32_t>& twins = where == side::test ? twin_of_test_ : twin_of_reference_;
  if (run.index.kind_of(op) != "scale") return 1;
  double factor = 1;
  for (std::uint32_t i = 0; i < op.captures; ++i) {
    const logical_capture& c = run.index.captures()[op.first_capture + i];
    if (twins[op.first_capture + i] >= 0) return 1;
    if (c.role == role::scalar && names_.text(c.name) == "factor" && !c.members.empty())
      factor = scalar_of(run.index.capture_row_of(c.members.front()));
  }
  return std::isfinite(factor) && factor != 0 ? factor : 1;
}

// The matched reads that a lone scale feeds, by way of ops without partners.
std::vector<std::int32_t> comparer::readers_of(side where, const logical_op& op) const {
  const judged_run& run = where == side::test ? test_ : reference_;
  const std::vector<std::int32_t>& twins = where == side::test ? twin_of_test_ : twin_of_reference_;
  std::vector<bool> reached(run.index.captures().size());
  for (std::uint32_t i = 0; i < op.captures; ++i) reached[op.first_capture + i] = true;
  std::vector<std::int32_t> found;
  for (std::size_t at = op.first_capture + op.captures; at < reached.size(); ++at) {
    const logical_capture& c = run.index.captures()[at];
    if (c.written || c.role == role::scalar) continue;
    const std::int32_t writer = run.flow.writer(static_cast<std::int32_t>(at));
    if (writer < 0 || !reached[static_cast<std::size_t>(writer)]) continue;
    if (twins[at] >= 0) {
      found.push_back(static_cast<std::int32_t>(at));
      continue;
    }
    const logical_op& passes = run.index.ops()[c.op];
    if (lone_factor(where, passes) != 1) continue;
    for (std::uint32_t i = 0; i < passes.captures; ++i) reached[passes.first_capture + i] = true;
  }
  return found;
}

distances comparer::apart(std::int32_t reference, std::int32_t test) {
  const auto merged = [](const judged_run& run, std::int32_t at) {
    return merge(run.index, run.index.captures()[static_cast<std::size_t>(at)], run.placements);
  };
  const merged_capture r = merged(reference_, reference), t = merged(test_, test);
  return r.local || t.local || !r.covered || !t.covered || r.count != t.count ? distances() : distance(r, t);
}

// Whether results of the test that nobody reads, or its optimizer, show what a read was off by; not when
// another factor on the way differs between the runs, which may make up for it.
bool comparer::does_harm(std::int32_t test_read) {
  const std::vector<logical_capture>& captures = test_.index.captures();
  std::vector<bool> off(captures.size()), off_in_reference(reference_.index.captures().size()),
      is_read(captures.size());
  off[static_cast<std::size_t>(test_read)] = true;
  bool harm = false;
  for (const logical_op& op : test_.index.ops()) {
    bool reads = false, other_factor = false;
    for (std::size_t at = op.first_capture; at < op.first_capture + op.captures; ++at) {
      const logical_capture& c = captures[at];
      if (c.written) continue;
      if (c.role == role::scalar) {
        const std::int32_t twin = twin_of_test_[at];
        const auto value = [](const judged_run& run, const logical_capture& s) {
          return s.members.empty() ? 1 : scalar_of(run.index.capture_row_of(s.members.front()));
        };
        other_factor =
            other_factor ||
            (tells_factor(names_.text(c.name)) &&
             (twin < 0 ||
              std::abs(value(test_, c) /
                           value(reference_, reference_.index.captures()[static_cast<std::size_t>(twin)]) -
                       1) > same));
        continue;
      }
      const std::int32_t writer = test_.flow.writer(static_cast<std::int32_t>(at));
      if (writer >= 0) is_read[static_cast<std::size_t>(writer)] = true;
      if (writer >= 0 && off[static_cast<std::size_t>(writer)]) off[at] = true;
      reads = reads || off[at];
    }
    if (!reads) continue;
    if (other_factor) return false;
    harm = harm || op.phase == phase::optimizer;
    for (std::size_t at = op.first_capture; at < op.first_capture + op.captures; ++at) {
      if (!captures[at].written) continue;
      off[at] = true;
      if (twin_of_test_[at] >= 0) off_in_reference[static_cast<std::size_t>(twin_of_test_[at])] = true;
    }
  }
  // A factor that the reference applies further on.
  for (std::size_t at = 0; at < off_in_reference.size(); ++at) {
    const logical_capture& c = reference_.index.captures()[at];
    const logical_op& op = reference_.index.ops()[c.op];
    if (c.role == role::scalar && twin_of_reference_[at] < 0 && tells_factor(names_.text(c.name))) {
      for (std::size_t k = op.first_capture; k < op.first_capture + op.captures; ++k) {
        const logical_capture& other = reference_.index.captures()[k];
        if (other.written || other.role == role::scalar) continue;
        const std::int32_t writer = reference_.flow.writer(static_cast<std::int32_t>(k));
        if (writer >= 0 && off_in_reference[static_cast<std::size_t>(writer)]) return false;
      }
    }
  }
  for (std::size_t at = 0; at < captures.size() && !harm; ++at) {
    if (!off[at] || !captures[at].written || is_read[at] || twin_of_test_[at] < 0) continue;
    const distances d = apart(twin_of_test_[at], static_cast<std::int32_t>(at));
    harm = (d.from_values || d.from_sketch) && !d.contaminated && d.relative_l2 > harmful;
  }
  return harm;
}

void comparer::note_lone_factors(const std::vector<op_pair>& pairs) {
  for (std::size_t order = 0; order < pairs.size(); ++order) {
    const op_pair& pair = pairs[order];
    if (pair.fate != fate::auxiliary || !pair.selected) continue;
    const side where = pair.test >= 0 ? side::test : side::reference;
    const bool is_test = where == side::test;
    const judged_run& run = is_test ? test_ : reference_;
    const logical_op& op = op_of(run, is_test ? pair.test : pair.reference);
    const double factor = lone_factor(where, op);
    if (std::abs(factor - 1) <= same) continue;
    for (const std::int32_t read : readers_of(where, op)) {
      const std::int32_t twin =
          (is_test ? twin_of_test_ : twin_of_reference_)[static_cast<std::size_t>(read)];
      const std::int32_t r = is_test ? twin : read, t = is_test ? read : twin;
      const distances d = apart(r, t);
      const double expected = is_test ? factor : 1 / factor;
      if ((!d.from_values && !d.from_sketch) || d.contaminated || !(d.cosine > 0.999) ||
          std::abs(d.factor / expected - 1) > same || !does_harm(t))
        continue;
      const bool again = is_test && run.applied_before(op, factor);
      const logical_capture& reader = test_.index.captures()[static_cast<std::size_t>(t)];
      finding f = stated(again     ? "ND506"
                         : is_test ? "ND505"
                                   : "ND501",
                         is_test ? run.index.place_of(op) : test_.index.place_of(reader), order);
      f.message += is_test ? " (the reference has no such op)"
                           : " (only the reference has " + std::string(names_.text(op.name)) + ")";
      f.evidence = {{"factor", d.factor}, {"value", factor}, {"relative_l2", d.relative_l2}};
      f.seen_in = side::test;
      f.brought_by = bringer::local_op;
      f.is_root = true;
      // That the reader's input differs says nothing more.
      const place read_here = test_.index.place_of(reader);
      std::erase_if(result_.findings, [&](const finding& g) {
        const bool told = g.rule == "ND801" && g.where.op == read_here.op && g.where.step == read_here.step &&
                          g.where.scope == read_here.scope && g.where.tensor == read_here.tensor;
        if (told) f.explains.push_back(g.rule + " " + g.symptom + " " + g.cause);
        return told;
      });
      result_.findings.push_back(std::move(f));
      break;
    }
  }
}

}  // namespace numdiff::analysis

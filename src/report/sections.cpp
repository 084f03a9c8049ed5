#include "report/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <vector>

#include "analysis/next_capture.hpp"
#include "model/path.hpp"
#include "report/meaning.hpp"
#include "report/number.hpp"
#include "report/place.hpp"
#include "report/table.hpp"

namespace numdiff::report {

namespace {

using analysis::comparison;
using analysis::diagnosis;
using analysis::finding;

// The first s.top findings as lines, and how many more there are. Findings of one cause at one op and
// tensor are one line with their number.
std::string listed(const std::vector<const finding*>& findings, const style& s) {
  std::map<std::pair<std::string, std::string>, std::size_t> times;
  std::vector<const finding*> first;
  for (const finding* f : findings)
    if (++times[{where_text(f->where), f->cause}] == 1) first.push_back(f);
  std::string out;
  for (std::size_t i = 0; i < first.size() && i < s.top; ++i)
    out += finding_line(*first[i], times[{where_text(first[i]->where), first[i]->cause}], s);
  return out + residue(s, first.size(), "");
}

std::string known(double value) {
  return std::isnan(value) ? "-" : rounded(value);
}

const char* short_phase(phase p) {
  switch (p) {
    case phase::forward: return "fwd";
    case phase::backward: return "bwd";
    case phase::recompute: return "rec";
    case phase::optimizer: return "opt";
    case phase::communication: return "comm";
    case phase::evaluation: return "eval";
    case phase::none: break;
  }
  return "";
}

}  // namespace

std::string title(const style& s, std::string_view words) {
  return '\n' + paint(s, ink::bold, words) + '\n';
}

const char* symbol(analysis::verdict v) {
  switch (v) {
    case analysis::verdict::equal: return "=";
    case analysis::verdict::within: return "~";
    case analysis::verdict::beyond: return "!";
    case analysis::verdict::undecided: return "?";
    case analysis::verdict::not_comparable: return "-";
  }
  return "?";
}

std::string when(const analysis::place& p) {
  const std::string phase = short_phase(p.phase);
  if (p.step < 0) return phase;
  return phase.empty() ? fmt::format("{}", p.step) : fmt::format("{} {}", p.step, phase);
}

std::string run_line(const char* side, const analysis::run_summary& run, const style& s) {
  std::string what = counted(static_cast<std::uint64_t>(run.ranks), "rank");
  if (run.ranks != run.world_size) what += fmt::format(" of {}", run.world_size);
  what += ", " + counted(run.ops, "op") + ", " + counted(run.captures, "capture");
  if (!run.closed) what += ", not closed";
  return wrapped(s, paint(s, ink::faint, fmt::format("{:<10} ", side)), 11, run.path + " (" + what + ")");
}

std::string other_roots(const diagnosis& c, const style& s) {
  std::vector<const finding*> others;
  for (std::size_t i = c.first_divergence ? 1 : 0; i < c.roots.size(); ++i) others.push_back(&c.roots[i]);
  if (others.empty()) return {};
  return title(s, "Other places where an error begins (not inherited from the first)") + listed(others, s);
}

std::string nonfinite(const diagnosis& c, const style& s) {
  if (!c.nonfinite_origin) return {};
  return title(s, "First non-finite value") + finding_block(*c.nonfinite_origin, s);
}

std::string information_lost(const diagnosis& c, const style& s) {
  if (c.information_lost.empty()) return {};
  std::vector<const finding*> list;
  for (const finding& f : c.information_lost) list.push_back(&f);
  return title(s, fmt::format("Where information was lost ({})", counted(list.size(), "place"))) +
         listed(list, s);
}

std::string worst_ops(const comparison& c, const style& s) {
  if (c.worst.empty()) return {};
  table t({{" "},
           {"step"},
           {"types"},
           {"rel. L2", align::right},
           {"max ulp", align::right},
           {"obs/exp", align::right},
           {"op : tensor", align::left, cut::front}});
  bool estimated = false;
  for (std::size_t i = 0; i < c.worst.size() && i < s.top; ++i) {
    const analysis::table_row& row = c.worst[i];
    std::string types = name_of(row.test_dtype);
    if (row.reference_dtype != row.test_dtype)
      types = fmt::format("{}/{}", name_of(row.reference_dtype), types);
    const bool sketch = row.apart.from_sketch && !row.apart.from_values;
    estimated = estimated || sketch;
    t.add({symbol(row.verdict), when(row.where), types, known(row.apart.relative_l2) + (sketch ? "*" : ""),
           known(row.apart.worst_ulp), row.local_ratio > 0 ? rounded(row.local_ratio) : "-",
           where_text(row.where)});
  }
  std::string out = title(s, "Worst ops") + t.text(s) + residue(s, c.worst.size(), "");
  out +=
      paint(s, ink::faint, "  = equal  ~ within expectation  ! beyond  ? undecided  - not comparable") + '\n';
  if (estimated) out += paint(s, ink::faint, "  * estimated from sketches") + '\n';
  return out;
}

std::string good_runs(const comparison& c, const style& s) {
  if (!c.envelope) return {};
  const analysis::envelope_use& u = *c.envelope;
  const std::string what =
      c.trusted ? "error of the trusted run" : fmt::format("distances of {}", counted(u.runs, "good run"));
  return title(s, "Good runs") +
         wrapped(
             s, "  ", 4,
             fmt::format(
                 "{} ({}): known for {}, of which {} beyond; not known for {}, which the model judges", what,
                 u.path, counted(u.covered, "matched capture"), counted(u.beyond), counted(u.not_covered)));
}

std::string structure(const comparison& c, const style& s) {
  std::vector<const finding*> list;
  std::size_t above = 0;
  for (const finding& f : c.findings) {
    if (f.symptom != "structure") continue;
    if (f.is_root) {
      ++above;
    } else {
      list.push_back(&f);
    }
  }
  const std::uint64_t left = c.totals.reference.only_there;
  const std::uint64_t right = c.totals.test.only_there;
  if (list.empty() && above == 0 && left == 0 && right == 0) return {};
  std::string out = title(s, "Structure");
  if (left != 0 || right != 0)
    out += wrapped(s, "  ", 2,
                   fmt::format("without a partner: {} of the reference, {} of the test",
                               counted(left, "capture"), counted(right, "capture")));
  if (above != 0)
    out += wrapped(s, "  ", 2, fmt::format("differs at {} where an error begins", counted(above, "place")));
  return out + listed(list, s);
}

std::string explained(const comparison& c, const style& s) {
  std::map<std::string, std::uint64_t> causes;
  for (const finding& f : c.findings) {
    if (!f.benign || f.symptom == "slow") continue;
    // One finding may stand for many captures.
    const auto stands_for = std::find_if(f.evidence.begin(), f.evidence.end(),
                                         [](const auto& item) { return item.first == "captures"; });
    causes[f.cause] += stands_for == f.evidence.end() ? 1 : static_cast<std::uint64_t>(stands_for->second);
  }
  if (causes.empty()) return {};
  std::vector<std::pair<std::string, std::uint64_t>> order(causes.begin(), causes.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out = title(s, "Differences that are explained");
  for (std::size_t i = 0; i < order.size() && i < s.top; ++i) {
    const std::string meaning = cause_meaning(order[i].first);
    out += wrapped(s, "  ", 4,
                   fmt::format("{}: {}{}", order[i].first, counted(order[i].second, "capture"),
                               meaning.empty() ? "" : " (" + meaning + ")"));
  }
  return out + residue(s, order.size(), "causes");
}

std::string speed(const comparison& c, const style& s) {
  std::vector<const finding*> slow;
  for (const finding& f : c.findings)
    if (f.symptom == "slow") slow.push_back(&f);
  if (slow.empty()) return {};
  std::string out = title(s, "Lower precision without speed");
  for (std::size_t i = 0; i < slow.size() && i < s.top; ++i) {
    std::map<std::string_view, double> of(slow[i]->evidence.begin(), slow[i]->evidence.end());
    const auto us = [&](const char* name) { return rounded(of[name] * 1e6); };
    out += finding_line(*slow[i], 1, s) +
           wrapped(s, "      ", 6,
                   fmt::format("{} us, of which casts {} us ({}); {} us in the other run", us("seconds"),
                               us("seconds_casts"), rounded(100 * of["share_of_casts"]) + " %",
                               us("seconds_other_run")));
  }
  return out + residue(s, slow.size(), "");
}

std::string totals(const comparison& c, const style& s) {
  const auto numbers = [](std::initializer_list<const char*> titles) {
    std::vector<column> columns;
    for (const char* text : titles) columns.push_back({text, *text == '\0' ? align::left : align::right});
    return table(std::move(columns));
  };
  table sides = numbers({"", "all", "= matched", "+ auxiliary", "+ bridged", "+ only there", "+ dropped"});
  for (const auto& [name, t] :
       {std::pair{"reference", &c.totals.reference}, std::pair{"test", &c.totals.test}})
    sides.add({name, counted(t->captures), counted(t->matched), counted(t->auxiliary), counted(t->bridged),
               counted(t->only_there), counted(t->dropped)});
  const analysis::totals& t = c.totals;
  table verdicts = numbers({"matched", "= equal", "+ within", "+ beyond", "+ undecided", "+ not comparable"});
  verdicts.add({counted(t.matched), counted(t.equal), counted(t.within), counted(t.beyond),
                counted(t.undecided), counted(t.not_comparable)});
  const std::uint64_t decided = t.equal + t.within + t.beyond;
  std::string out = title(s, "Captures") + sides.text(s) + verdicts.text(s);
  out += fmt::format("  decided: {} of {} matched ({})\n", counted(decided), counted(t.matched),
                     percent(decided, t.matched));
  const std::uint64_t alone = t.reference.auxiliary_undecided + t.test.auxiliary_undecided;
  if (alone != 0)
    out += fmt::format("  auxiliary that could not be judged: {} of {}\n", counted(alone),
                       counted(t.reference.auxiliary + t.test.auxiliary));
  return out;
}

std::string manifest(const comparison& c, const style& s) {
  std::vector<const analysis::manifest_difference*> shown;
  std::size_t hidden = 0;
  for (const auto klass : {manifest_class::numeric, manifest_class::performance})
    for (const auto& d : c.manifest_differences)
      if (d.klass == klass) shown.push_back(&d);
  hidden = c.manifest_differences.size() - shown.size();
  if (shown.empty()) return {};
  table t({{"setting", align::left, cut::middle},
           {"reference", align::left, cut::middle},
           {"test", align::left, cut::middle}});
  for (std::size_t i = 0; i < shown.size() && i < s.top; ++i) {
    const auto& d = *shown[i];
    t.add(
        {d.key, d.reference.empty() ? "(not there)" : d.reference, d.test.empty() ? "(not there)" : d.test});
  }
  std::string out = title(s, "Settings that differ") + t.text(s) + residue(s, shown.size(), "");
  if (hidden != 0)
    out +=
        paint(s, ink::faint, fmt::format("  and {} about identity and records (--json has them)\n", hidden));
  return out;
}

std::string next_capture(const diagnosis& d, const style& s) {
  if (!d.next_capture) return {};
  // One line, however long: it is meant to be copied.
  return title(s, "To decide what is open, record again with") + "  " +
         printable(analysis::line_of(*d.next_capture)) + '\n';
}

std::string notes(const diagnosis& c, const style& s) {
  if (c.incomplete_because.empty() && c.warnings.empty()) return {};
  std::string out = title(s, "Notes");
  std::size_t number = 0;
  for (const auto* list : {&c.incomplete_because, &c.warnings}) {
    for (std::size_t i = 0; i < list->size() && i < s.top; ++i) {
      const std::string head = fmt::format("  [{}] ", ++number);
      const bool because = list == &c.incomplete_because;
      out += wrapped(s, head, head.size(), (because ? "incomplete: " : "") + (*list)[i]);
    }
    out += residue(s, list->size(), "");
  }
  return out;
}

}  // namespace numdiff::report

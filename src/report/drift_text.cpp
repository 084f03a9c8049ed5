#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/drift_report.hpp"
#include "report/number.hpp"
#include "report/sections.hpp"
#include "report/table.hpp"

namespace numdiff::report {

namespace {

using analysis::growth_law;
using analysis::layer_drift;
using analysis::outcome;

// Never rounds up to 100 %.
std::string sure(double confidence) {
  return fmt::format("{:.0f} %", std::floor(100 * std::min(confidence, 0.999)));
}

std::string how(const layer_drift& l) {
  switch (l.growth.law) {
    case growth_law::root:
      return fmt::format("grows as the root of the steps, by {} in the first", rounded(l.growth.rate));
    case growth_law::linear: return fmt::format("grows linearly, by {} a step", rounded(l.growth.rate));
    case growth_law::exponential:
      return fmt::format("grows exponentially, by {} a step", rounded(l.growth.rate));
    default: return fmt::format("jumps to {}", rounded(l.growth.last));
  }
}

std::string rate_of(const layer_drift& l) {
  switch (l.growth.law) {
    case growth_law::root:
    case growth_law::linear: return "+" + rounded(l.growth.rate);
    case growth_law::exponential: return "x" + rounded(l.growth.rate);
    default: return l.growth.changes ? "jump" : "";
  }
}

std::string head(const analysis::drift_report& r, const style& s) {
  std::string out;
  for (const auto& [name, run] : {std::pair{"reference", &r.reference}, std::pair{"test", &r.test}})
    out += fmt::format("{:<10} {} ({}, {})\n", name, printable(run->path),
                       counted(static_cast<std::uint64_t>(run->ranks), "rank"),
                       counted(run->captures, "capture"));
  out += wrapped(s, "compared   ", 11,
                 fmt::format("{} of {} over {}: weights, and what the forward pass wrote",
                             counted(r.compared, "capture"), counted(r.layers.size(), "layer"),
                             counted(r.steps, "step")));
  return out;
}

std::string first(const analysis::drift_report& r, const style& s) {
  const layer_drift& l = r.layers[static_cast<std::size_t>(r.first)];
  std::string out = "\n" + paint(s, ink::bad, "The runs drift apart. It begins here:") + "\n\n";
  out += "  " + printable(l.scope) + "\n";
  const auto line = [&](std::string_view name, const std::string& what) {
    out += wrapped(s, fmt::format("  {:<10}", name), 12, what);
  };
  const auto step = [&](std::size_t at) { return l.points[at].step; };
  if (l.growth.changes) {
    line("from", step(l.growth.earliest) == step(l.growth.latest)
                     ? fmt::format("step {}", l.from_step())
                     : fmt::format("step {}, or another of {} to {}", l.from_step(), step(l.growth.earliest),
                                   step(l.growth.latest)));
  } else {
    line("from", fmt::format("step {}, the first", l.from_step()));
  }
  line("law", fmt::format("{}: the error {} ({} sure)", analysis::name_of(l.growth.law), how(l),
                          sure(l.growth.confidence)));
  line("error", fmt::format("{} before, {} at the last step, where {} is expected", rounded(l.growth.level),
                            rounded(l.growth.last), rounded(l.growth.expected)));
  line("largest", printable(l.worst));
  return out;
}

std::string layers(const analysis::drift_report& r, const style& s) {
  table t({{"layer", align::left, cut::front},
           {"law"},
           {"from", align::right},
           {"sure", align::right},
           {"before", align::right},
           {"last", align::right},
           {"expected", align::right},
           {"a step", align::right}});
  // Those that drift first, in execution order.
  std::vector<const layer_drift*> order;
  for (const bool drifting : {true, false})
    for (const layer_drift& l : r.layers)
      if (l.drifts() == drifting) order.push_back(&l);
  for (std::size_t i = 0; i < order.size() && i < s.top; ++i) {
    const layer_drift& l = *order[i];
    const bool known = l.growth.law != growth_law::unknown;
    t.add({l.scope.empty() ? "(no scope)" : printable(l.scope), analysis::name_of(l.growth.law),
           l.drifts() ? std::to_string(l.from_step()) : "", known ? sure(l.growth.confidence) : "",
           rounded(l.growth.level), rounded(l.growth.last), rounded(l.growth.expected), rate_of(l)});
  }
  return t.size() == 0 ? "" : title(s, "Layers") + t.text(s) + residue(s, order.size(), "");
}

std::string last_line(const analysis::drift_report& r) {
  switch (r.verdict) {
    case outcome::agree:
      return fmt::format("numdiff: steady: {} over {}, none drifts", counted(r.layers.size(), "layer"),
                         counted(r.steps, "step"));
    case outcome::differ: {
      const layer_drift& l = r.layers[static_cast<std::size_t>(r.first)];
      return fmt::format("numdiff: drift: first at {} from step {}: {}", printable(l.scope), l.from_step(),
                         l.growth.law == growth_law::none ? "jump" : analysis::name_of(l.growth.law));
    }
    case outcome::incomplete: break;
  }
  std::string why;
  for (const std::string& reason : r.incomplete_because) why += (why.empty() ? "" : "; ") + reason;
  return "numdiff: incomplete: " + printable(why);
}

}  // namespace

std::string text(const analysis::drift_report& r, const style& s) {
  std::string out = head(r, s);
  if (r.first >= 0)
    out += first(r, s);
  else if (r.verdict == outcome::agree)
    out +=
        "\n" + paint(s, ink::good, "No layer drifts: each grows by no more than a rounding a step.") + "\n";
  out += layers(r, s);
  std::vector<std::string> notes = r.warnings;
  if (r.verdict == outcome::differ)
    notes.insert(notes.end(), r.incomplete_because.begin(), r.incomplete_because.end());
  if (!notes.empty()) out += title(s, "Notes");
  for (const std::string& note : notes) out += wrapped(s, "  ", 4, printable(note));
  return out + "\n" + last_line(r) + "\n";
}

}  // namespace numdiff::report

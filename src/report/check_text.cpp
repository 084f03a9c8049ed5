#include "report/check_text.hpp"

#include <fmt/format.h>

#include "report/number.hpp"
#include "report/place.hpp"
#include "report/sections.hpp"
#include "report/table.hpp"

namespace numdiff::report {

namespace {

using analysis::checkup;
using analysis::condition;

ink ink_of(condition c) {
  return c == condition::healthy ? ink::good : c == condition::fault ? ink::bad : ink::warn;
}

const char* words_of(const checkup& c) {
  switch (c.verdict) {
    case condition::healthy:
      return c.totals.undecided == 0
                 ? "The run is healthy: every op wrote what its inputs and formats explain."
                 : "No fault was found; what is undecided could not be judged.";
    case condition::fault:
      return c.complete ? "The run has a fault. The first one:"
                        : "The run has a fault, and part was not judged. The first one:";
    case condition::incomplete: break;
  }
  return "The check is incomplete: what could be judged is in order.";
}

std::string scales(const analysis::scale_use& u, const style& s) {
  if (u.tensors == 0) return {};
  std::string out = title(s, fmt::format("Scales ({})", counted(u.tensors, "quantised tensor")));
  const auto at = [](const analysis::place& p) {
    const std::string context = context_text(p);
    return where_text(p) + (context.empty() ? "" : " (" + context + ")");
  };
  if (u.measured != 0) {
    out += wrapped(s, "  ", 4,
                   fmt::format("{} by one scale, whose range they use from {} at {}", counted(u.measured),
                               rounded(u.least), at(u.least_at)));
    out += wrapped(s, "    ", 4, fmt::format("to {} at {}", rounded(u.most), at(u.most_at)));
  }
  out += wrapped(s, "  ", 4,
                 fmt::format("with values beyond their scale: {}; with a scale of exactly 1: {}",
                             counted(u.cut), counted(u.uncalibrated)));
  return out;
}

std::string worst(const checkup& c, const style& s) {
  if (c.worst.empty()) return {};
  table t({{" "},
           {"step"},
           {"type"},
           {"obs/exp", align::right},
           {"limit", align::right},
           {"op : tensor", align::left, cut::front}});
  for (std::size_t i = 0; i < c.worst.size() && i < s.top; ++i) {
    const analysis::table_row& row = c.worst[i];
    t.add({symbol(row.verdict), when(row.where), name_of(row.test_dtype),
           row.local_ratio > 0 ? rounded(row.local_ratio) : "-", row.limit > 0 ? rounded(row.limit) : "-",
           where_text(row.where)});
  }
  return title(s, "Worst ops") + t.text(s) + residue(s, c.worst.size(), "") +
         paint(s, ink::faint, "  ~ within expectation  ! beyond  ? undecided") + '\n';
}

std::string totals(const analysis::check_totals& t, const style& s) {
  table counts({{"all", align::right},
                {"= in order", align::right},
                {"+ faulty", align::right},
                {"+ undecided", align::right},
                {"+ given", align::right},
                {"+ dropped", align::right}});
  counts.add({counted(t.captures), counted(t.in_order), counted(t.faulty), counted(t.undecided),
              counted(t.given), counted(t.dropped)});
  return title(s, "Captures") + counts.text(s);
}

}  // namespace

std::string last_line(const checkup& c) {
  const analysis::check_totals& t = c.totals;
  std::string line = fmt::format("numdiff: {}: ", analysis::name_of(c.verdict));
  if (c.verdict == condition::fault) {
    line += "first at " + place_and_cause(*c.first_divergence);
  } else if (c.verdict == condition::incomplete && !c.incomplete_because.empty()) {
    line += c.incomplete_because.front();
  } else {
    line += fmt::format("{} of {} captures in order, {} given, {} undecided", t.in_order, t.captures, t.given,
                        t.undecided);
  }
  if (c.health == analysis::health::nonfinite) line += "; health: non-finite";
  return line;
}

std::string text(const checkup& c, const style& s) {
  std::string out = run_line("run", c.run, s) + '\n' + paint(s, ink_of(c.verdict), words_of(c)) + '\n';
  if (c.first_divergence)
    out += '\n' + finding_block(*c.first_divergence, s) + explain_line(*c.first_divergence, s);
  out += other_roots(c, s);
  out += nonfinite(c, s);
  out += information_lost(c, s);
  out += scales(c.scales, s);
  out += worst(c, s);
  out += totals(c.totals, s);
  out += next_capture(c, s);
  out += notes(c, s);
  return out + '\n' + paint(s, ink_of(c.verdict), last_line(c)) + '\n';
}

}  // namespace numdiff::report

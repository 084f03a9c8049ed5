#include "report/text.hpp"

#include <fmt/format.h>

#include "model/path.hpp"
#include "report/number.hpp"
#include "report/place.hpp"
#include "report/sections.hpp"

namespace numdiff::report {

namespace {

using analysis::comparison;
using analysis::outcome;

ink ink_of(outcome o) {
  return o == outcome::agree ? ink::good : o == outcome::differ ? ink::bad : ink::warn;
}

std::string heading(const comparison& c, const style& s) {
  std::string out = run_line("reference", c.reference, s) + run_line("test", c.test, s);
  if (c.trusted) out += run_line("trusted", *c.trusted, s);
  const char* words = "The runs agree: no difference is above what their formats explain.";
  if (c.verdict == outcome::differ) {
    words = c.first_divergence ? "The runs differ. First divergence:" : "The runs differ.";
    if (!c.complete)
      words = c.first_divergence ? "The runs differ, and part was not compared. First divergence:"
                                 : "The runs differ, and part was not compared.";
  } else if (c.verdict == outcome::incomplete) {
    words = "The comparison is incomplete: what could be compared agrees.";
  }
  return out + '\n' + paint(s, ink_of(c.verdict), words) + '\n';
}

}  // namespace

std::string last_line(const comparison& c) {
  const analysis::totals& t = c.totals;
  const std::uint64_t decided = t.equal + t.within + t.beyond;
  std::string line = fmt::format("numdiff: {}: ", analysis::name_of(c.verdict));
  switch (c.verdict) {
    case outcome::agree:
      line += fmt::format("{} of {} matched captures decided, {} equal", decided, t.matched, t.equal);
      break;
    case outcome::differ:
      if (c.first_divergence) {
        line += "first at " + place_and_cause(*c.first_divergence);
      } else if (c.nonfinite_origin) {
        line += "non-finite first at " + place_and_cause(*c.nonfinite_origin);
      } else {
        line += fmt::format("{} of {} matched captures beyond expectation", t.beyond, t.matched);
      }
      break;
    case outcome::incomplete:
      line += c.incomplete_because.empty()
                  ? fmt::format("{} of {} matched captures decided", decided, t.matched)
                  : c.incomplete_because.front();
      break;
  }
  if (c.health == analysis::health::nonfinite) line += "; health: non-finite";
  return line;
}

std::string text(const comparison& c, const style& s) {
  std::string out = heading(c, s);
  if (c.first_divergence)
    out += '\n' + finding_block(*c.first_divergence, s) + explain_line(*c.first_divergence, s);
  out += other_roots(c, s);
  out += nonfinite(c, s);
  out += information_lost(c, s);
  out += worst_ops(c, s);
  out += good_runs(c, s);
  out += structure(c, s);
  out += explained(c, s);
  out += speed(c, s);
  out += totals(c, s);
  out += manifest(c, s);
  out += next_capture(c, s);
  out += notes(c, s);
  return out + '\n' + paint(s, ink_of(c.verdict), last_line(c)) + '\n';
}

}  // namespace numdiff::report

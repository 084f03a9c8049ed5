#include "analysis/expect/forensics.hpp"

#include <algorithm>

namespace numdiff::analysis::expect {
namespace {

constexpr double worse = 2;  // times the declared accumulator's error make a fault of another one

// Behind "the declared": without an article.
std::string declared_words(const std::string& accumulator) {
  for (const char* article : {"a ", "an "}) {
    if (accumulator.starts_with(article)) return accumulator.substr(std::string_view(article).size());
  }
  return accumulator;
}

}  // namespace

std::string accumulator_fit::names(const char* conjunction) const {
  std::string text;
  for (std::size_t i = 0; i < alike.size(); ++i) {
    if (i > 0) text += i + 1 == alike.size() ? std::string(" ") + conjunction + " " : ", ";
    text += alike[i];
  }
  return text;
}

void name_accumulator(const call& c, const product& p, const expectation& honest, judgement& j) {
  const accumulator& sum = c.sum();
  const bool wide = !sum.narrow() && sum.partials.precision >= sum.wide.precision && p.input_unit == 0;
  if (j.v == verdict::undecided || (j.v == verdict::within && wide)) return;
  if (j.nonfinite_created + j.nonfinite_replayed > 0 || j.cause_hint == "nan-dropped") return;
  if (is_integer(p.a->type) || is_integer(p.b->type) || is_integer(p.c->type)) return;
  const accumulator_fit fit = fit_accumulator(c, p, honest);
  if (fit.alike.empty() || fit.alike.front() == fit.declared) return;
  if (fit.decided()) j.accumulator = fit.names("or");
  const bool blamed =
      fit.decided() && *fit.cause != 0 && (j.v == verdict::beyond || fit.relative_error > worse);
  if (!blamed && (j.v != verdict::beyond || fit.decided())) return;
  std::erase_if(j.evidence, [](const auto& e) { return e.first.starts_with("hypothesis_"); });
  j.evidence.emplace_back("hypothesis_agreement", fit.agreement);
  j.evidence.emplace_back("hypothesis_elements", static_cast<double>(fit.deciding));
  j.evidence.emplace_back("accumulator_margin", fit.margin);
  j.evidence.emplace_back("accumulator_lead", fit.lead);
  if (!fit.decided()) {
    j.cause_hint.clear();
    j.reason = "the stored bits fit " + fit.names("and") + " alike, and not the declared " +
               declared_words(fit.declared);
    return;
  }
  j.v = verdict::beyond;
  j.cause_hint = fit.cause;
  j.reason = "the stored bits are those of " + j.accumulator + ", " +
             std::to_string(static_cast<long long>(fit.margin)) + " bits ahead of the declared " +
             declared_words(fit.declared);
}

}  // namespace numdiff::analysis::expect

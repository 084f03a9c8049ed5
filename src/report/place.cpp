#include "report/place.hpp"

#include <fmt/format.h>

#include <cmath>

#include "model/path.hpp"
#include "report/meaning.hpp"
#include "report/number.hpp"

namespace numdiff::report {

namespace {

constexpr std::size_t label_width = 12;

void append(std::string& list, const std::string& item) {
  if (item.empty()) return;
  if (!list.empty()) list += ", ";
  list += item;
}

std::string labelled(const style& s, const char* label, const std::string& text) {
  return wrapped(s, paint(s, ink::faint, fmt::format("  {:<10}", label)), label_width, text);
}

// Values read back exactly; what is measured (ratios, errors) needs no more than four digits.
std::string evidence_number(const std::string& name, double value) {
  constexpr double exact_integers = 9007199254740992.0;
  if (std::abs(value) < exact_integers && value == std::trunc(value))
    return counted(static_cast<std::int64_t>(value));
  for (const char* exact_name : {"value", "amax", "maximum", "minimum", "factor", "scale"})
    if (name.ends_with(exact_name)) return exact(value);
  return fmt::format("{:.4g}", value);
}

std::string evidence_text(const analysis::evidence_list& evidence, const style& s) {
  std::string list;
  std::size_t count = 0;
  for (const auto& [name, value] : evidence) {
    if (value == 0 || ++count > s.top) continue;
    std::string words = name;
    for (char& c : words)
      if (c == '_') c = ' ';
    append(list, words + " " + evidence_number(name, value));
  }
  return count > s.top ? fmt::format("{} and {} more", list, count - s.top) : list;
}

std::string with_meaning(const std::string& name, const char* meaning) {
  return *meaning == '\0' ? name : name + ": " + meaning;
}

const char* bringer_text(analysis::bringer by) {
  switch (by) {
    case analysis::bringer::local_op: return "by the op itself";
    case analysis::bringer::communication: return "by the communication between ranks";
    case analysis::bringer::given: return "by what the program was given";
    case analysis::bringer::unknown: break;
  }
  return "";
}

}  // namespace

std::string context_text(const analysis::place& p) {
  std::string text;
  if (p.step >= 0) append(text, fmt::format("step {}", p.step));
  if (p.step < 0 && p.update >= 0) append(text, fmt::format("update {}", p.update));
  if (p.micro_batch >= 0) append(text, fmt::format("micro-batch {}", p.micro_batch));
  append(text, model::phase_name(p.phase));
  return text;
}

std::string ranks_text(const std::vector<std::int32_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    append(text, last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]));
    i = last + 1;
  }
  return text;
}

std::string where_text(const analysis::place& p) {
  const std::string text = printable(analysis::text_of(p));
  return text.empty() ? "(the whole run)" : text;
}

std::string place_and_cause(const analysis::finding& f) {
  const std::string context = context_text(f.where);
  std::string text = where_text(f.where);
  if (!context.empty()) text += " (" + context + ")";
  const std::string& what = f.cause.empty() || f.cause == "open" ? f.symptom : f.cause;
  if (!what.empty()) text += ": " + what;
  return text;
}

std::string finding_block(const analysis::finding& f, const style& s) {
  std::string context = context_text(f.where);
  if (f.where.role != role::none) append(context, model::role_name(f.where.role));
  append(context, model::usage_name(f.where.usage));
  if (f.where.all_ranks)
    append(context, "all ranks");
  else if (!f.where.ranks.empty())
    append(context, (f.where.ranks.size() == 1 ? "rank " : "ranks ") + ranks_text(f.where.ranks));
  if (f.seen_in != analysis::side::both)
    append(context, fmt::format("in the {} run", analysis::name_of(f.seen_in)));

  std::string out = "  " + paint(s, ink::bold, where_text(f.where)) + '\n';
  if (!context.empty()) out += wrapped(s, "  ", 2, context);
  out += labelled(s, "symptom", with_meaning(f.symptom, symptom_meaning(f.symptom)));
  out += labelled(s, "cause", with_meaning(f.cause, cause_meaning(f.cause)));
  // A message is the end of a sentence about the op.
  const std::string& subject = f.where.op.empty() ? f.where.tensor : f.where.op;
  if (!f.message.empty())
    out += labelled(s, "because", (subject.empty() ? "the run" : subject) + " " + f.message);
  if (const char* by = bringer_text(f.brought_by); *by != '\0' && !f.where.ranks.empty())
    out += labelled(s, "brought", by);
  if (const std::string numbers = evidence_text(f.evidence, s); !numbers.empty())
    out += labelled(s, "evidence", numbers);
  if (!f.control.empty()) out += labelled(s, "control", f.control);
  std::string rules = f.rule;
  if (!f.explains.empty()) {
    rules += ", explains ";
    for (std::size_t i = 0; i < f.explains.size() && i < s.top; ++i)
      rules += (i == 0 ? "" : ", ") + f.explains[i];
    if (f.explains.size() > s.top) rules += fmt::format(" and {} more", f.explains.size() - s.top);
  }
  if (!rules.empty()) out += labelled(s, "rule", rules);
  return out;
}

std::string explain_line(const analysis::finding& f, const style& s) {
  return f.rule.empty() ? "" : labelled(s, "more", "numdiff explain " + f.rule);
}

std::string finding_line(const analysis::finding& f, std::size_t times, const style& s) {
  std::string what = f.cause.empty() || f.cause == "open" ? f.symptom : f.cause;
  if (!f.message.empty()) what += ": " + f.message;
  const std::string context = context_text(f.where);
  std::string line = where_text(f.where);
  if (!context.empty()) line += ", " + context;
  if (times > 1) line += fmt::format(" ({} times)", counted(times));
  return wrapped(s, "  ", 2, line) + wrapped(s, "      ", 6, what);
}

}  // namespace numdiff::report

// numdiff explain: the list of rules, and the page of a rule or of every rule that names a cause.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <numeric>
#include <stdexcept>

#include "analysis/rules.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "report/meaning.hpp"
#include "rule_pages.hpp"

namespace numdiff::program {

namespace {

using analysis::rule;

std::string page_of(const rule& r) {
  for (const rule_page& page : rule_pages())
    if (std::string_view(page.id) == r.id) return page.text;
  return fmt::format("# {}: {}\n\n{}: {}.\n", r.id, r.cause, r.cause, report::cause_meaning(r.cause));
}

std::vector<const rule*> by_id() {
  std::vector<const rule*> list;
  for (const rule& r : analysis::rules()) list.push_back(&r);
  std::ranges::sort(list, {}, [](const rule* r) { return std::string_view(r->id); });
  return list;
}

std::string list_of_rules() {
  std::string text = fmt::format("{:<7}{:<13}{:<29}{}\n", "rule", "symptom", "cause", "the op");
  for (const rule* r : by_id())
    text += fmt::format("{:<7}{:<13}{:<29}{}\n", r->id, r->symptom, r->cause, r->message);
  return text;
}

// Letters to insert, remove or replace until one word is the other.
std::size_t steps_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

[[noreturn]] void refuse(const std::string& name) {
  std::multimap<std::size_t, std::string> near;
  const auto add = [&](std::string_view known) {
    const bool told = std::ranges::any_of(near, [&](const auto& entry) { return entry.second == known; });
    if (!told) near.emplace(steps_between(name, known), known);
  };
  for (const rule* r : by_id()) {
    add(r->id);
    add(r->cause);
  }
  std::string names;
  std::size_t count = 0;
  for (const auto& [distance, known] : near) {
    if (++count > 3) break;
    names += (names.empty() ? "" : ", ") + known;
  }
  throw usage_error(
      fmt::format("usage: no rule or cause '{}', nearest are {}: numdiff explain lists them", name, names));
}

}  // namespace

exit_code explain(const arguments& args) {
  if (args.rule.empty()) {
    write_standard_output(list_of_rules());
    return exit_code::agree;
  }
  std::string id = args.rule;
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text;
  for (const rule* r : by_id()) {
    if (r->id != id && r->cause != args.rule) continue;
    text += (text.empty() ? "" : "\n") + page_of(*r);
  }
  if (text.empty()) refuse(args.rule);
  write_standard_output(text);
  return exit_code::agree;
}

}  // namespace numdiff::program

#include "report/meaning.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <regex>
#include <string>

#include "analysis/rules.hpp"

using namespace numdiff;

namespace {

// Name and meaning of the table rows of docs/causes.md: the last two cells.
std::multimap<std::string, std::string> documented() {
  std::ifstream page(NUMDIFF_CAUSES);
  REQUIRE(page);
  std::multimap<std::string, std::string> rows;
  const std::regex row("\\| (?:.*\\| )?`([a-z-]+)` \\| (.*) \\|");
  std::smatch cells;
  for (std::string line; std::getline(page, line);)
    if (std::regex_match(line, cells, row)) rows.emplace(cells[1], cells[2]);
  return rows;
}

}  // namespace

TEST_CASE("the documented names have the meanings that reports print") {
  const auto rows = documented();
  CHECK(rows.size() > 60);
  for (const auto& row : rows) {
    const bool known =
        row.second == report::cause_meaning(row.first) || row.second == report::symptom_meaning(row.first);
    CHECK_MESSAGE(known, row.first);
  }
}

TEST_CASE("every rule uses documented names") {
  const auto rows = documented();
  for (const analysis::rule& rule : analysis::rules()) {
    CHECK_MESSAGE(rows.count(std::string(rule.cause)) > 0, rule.id);
    CHECK_MESSAGE(rows.count(std::string(rule.symptom)) > 0, rule.id);
    CHECK_MESSAGE(*report::cause_meaning(rule.cause) != '\0', rule.id);
    CHECK_MESSAGE(*report::symptom_meaning(rule.symptom) != '\0', rule.id);
  }
}

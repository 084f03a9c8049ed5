#include "commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/completeness.hpp"
#include "analysis/envelope.hpp"
#include "mapping.hpp"
#include "output.hpp"
#include "report/json.hpp"
#include "report/text.hpp"
#include "store/envelope_file.hpp"
#include "team.hpp"

namespace numdiff::program {

namespace {

// What the command line names beside the runs; every process of a team reads it, so that all stop where one
// does.
struct beside {
  explicit beside(const arguments& args) {
    if (!args.map.empty()) names.emplace(args.map);
    if (args.files.size() < 3 && !args.envelope.empty()) good = store::load_envelope(args.envelope);
  }
  std::optional<name_mapping> names;
  model::envelope good;
};

analysis::comparison answer(const arguments& args, std::vector<model::run>& runs, beside& given) {
  constexpr std::size_t fewest_rows = 20;
  const model::run& reference = runs.front();
  model::run& test = runs.back();
  std::optional<name_mapping>& names = given.names;
  model::envelope& good = given.good;
  refuse_same(reference, test);
  analysis::options how;
  how.select = args.select;
  how.strict = args.strict;
  how.worst_rows = std::max(fewest_rows, args.top);
  std::optional<analysis::run_summary> trusted;
  if (args.files.size() == 3) {
    model::run& run = runs[1];
    refuse_same(reference, run);
    refuse_same(run, test);
    if (names) names->rename(run);
    const progress shown("measuring the trusted run");
    good = analysis::measure_trusted(reference, run);
    trusted = analysis::summary_of(run);
  }
  if (!good.path.empty()) how.noise = &good;
  if (names) names->rename(test);
  const progress shown("comparing");
  analysis::comparison result = analysis::compare(reference, test, how);
  result.trusted = trusted;
  if (names) names->note(result);
  if (args.fail_on_nonfinite && result.health == analysis::health::nonfinite &&
      result.verdict != analysis::outcome::differ) {
    result.verdict = analysis::outcome::differ;
    result.warnings.push_back("values that are not finite count as a difference (--fail-on nonfinite)");
  }
  return result;
}

}  // namespace

exit_code compare(const arguments& args, store::team* team) {
  // Good runs are runs, and so is what has scopes and ops.
  if (args.files.size() == 2 && args.envelope.empty() && args.map.empty())
    if (const auto arrays = compare_arrays(args, team)) return *arrays;
  beside given(args);
  std::vector<model::run> runs = load(args.files, team);
  if (is_helper(team)) return exit_code::agree;
  const analysis::comparison result = answer(args, runs, given);
  write_report(
      args, [&] { return report::json(result); }, [&] { return report::text(result, style_of(args)); });
  return code_of(result.verdict);
}

}  // namespace numdiff::program

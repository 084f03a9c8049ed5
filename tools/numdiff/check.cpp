#include "analysis/check.hpp"

#include <algorithm>

#include "commands.hpp"
#include "output.hpp"
#include "report/check_text.hpp"
#include "report/json.hpp"
#include "team.hpp"

namespace numdiff::program {

namespace {

exit_code code_of(analysis::condition verdict) {
  switch (verdict) {
    case analysis::condition::healthy: return exit_code::agree;
    case analysis::condition::fault: return exit_code::differ;
    case analysis::condition::incomplete: break;
  }
  return exit_code::incomplete;
}

analysis::checkup answer(const arguments& args, const model::run& run) {
  constexpr std::size_t fewest_rows = 20;
  analysis::options how;
  how.select = args.select;
  how.strict = args.strict;
  how.worst_rows = std::max(fewest_rows, args.top);
  const progress shown("judging");
  return analysis::check(run, how);
}

}  // namespace

exit_code check(const arguments& args, store::team* team) {
  const std::vector<model::run> runs = load(args.files, team);
  if (is_helper(team)) return exit_code::agree;
  const analysis::checkup result = answer(args, runs.front());
  write_report(
      args, [&] { return report::json(result); }, [&] { return report::text(result, style_of(args)); });
  return code_of(result.verdict);
}

}  // namespace numdiff::program

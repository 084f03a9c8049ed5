#include "analysis/drift.hpp"

#include "commands.hpp"
#include "output.hpp"
#include "report/drift_report.hpp"
#include "team.hpp"

namespace numdiff::program {

exit_code drift(const arguments& args, store::team* team) {
  const std::vector<model::run> runs = load(args.files, team);
  if (is_helper(team)) return exit_code::agree;
  refuse_same(runs[0], runs[1]);
  const analysis::drift_report result = [&] {
    const progress shown("measuring");
    return analysis::measure_drift(runs[0], runs[1], args.select);
  }();
  write_report(
      args, [&] { return report::json(result); }, [&] { return report::text(result, style_of(args)); });
  return code_of(result.verdict);
}

}  // namespace numdiff::program

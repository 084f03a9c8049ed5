#include "analysis/envelope.hpp"

#include <vector>

#include "commands.hpp"
#include "output.hpp"
#include "report/envelope_text.hpp"
#include "store/envelope_file.hpp"
#include "team.hpp"

namespace numdiff::program {

exit_code envelope(const arguments& args, store::team* team) {
  const std::vector<model::run> runs = load(args.files, team);
  if (is_helper(team)) return exit_code::agree;
  for (std::size_t i = 1; i < runs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) refuse_same(runs[j], runs[i]);
  const analysis::measured_envelope measured = [&] {
    const progress shown("measuring");
    return analysis::measure_envelope(runs);
  }();
  store::write_envelope(args.output, measured.envelope);
  write_standard_output(report::text(measured, style_of(args)));
  return measured.envelope.spreads.empty() ? exit_code::incomplete : exit_code::agree;
}

}  // namespace numdiff::program

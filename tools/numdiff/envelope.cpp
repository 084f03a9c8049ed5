#include "analysis/envelope.hpp"

#include <vector>

#include "commands.hpp"
#include "output.hpp"
#include "report/envelope_text.hpp"
#include "store/envelope_file.hpp"

namespace numdiff::program {

exit_code envelope(const arguments& args) {
  std::vector<model::run> runs;
  for (const std::string& file : args.files) {
    runs.push_back(load(file));
    for (std::size_t i = 0; i + 1 < runs.size(); ++i) refuse_same(runs[i], runs.back());
  }
  const analysis::measured_envelope measured = [&] {
    const progress shown("measuring");
    return analysis::measure_envelope(runs);
  }();
  store::write_envelope(args.output, measured.envelope);
  write_standard_output(report::text(measured, style_of(args)));
  return measured.envelope.spreads.empty() ? exit_code::incomplete : exit_code::agree;
}

}  // namespace numdiff::program

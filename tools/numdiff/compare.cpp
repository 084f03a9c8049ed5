#include "commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "analysis/comparison.hpp"
#include "output.hpp"
#include "report/json.hpp"
#include "report/text.hpp"
#include "store/load.hpp"

namespace numdiff::program {

namespace {

model::run load(const std::string& path) {
  const progress shown("reading " + path);
  return store::load_run(path);
}

void refuse_same(const model::run& a, const model::run& b) {
  if (a.has_fingerprint && b.has_fingerprint && std::equal(a.fingerprint, a.fingerprint + 2, b.fingerprint))
    throw std::runtime_error(
        fmt::format("{}: is the same file as {}: give two different runs", b.path, a.path));
}

exit_code code_of(analysis::outcome verdict) {
  switch (verdict) {
    case analysis::outcome::agree: return exit_code::agree;
    case analysis::outcome::differ: return exit_code::differ;
    case analysis::outcome::incomplete: break;
  }
  return exit_code::incomplete;
}

analysis::comparison answer(const arguments& args) {
  constexpr std::size_t fewest_rows = 20;
  const model::run reference = load(args.files[0]);
  const model::run test = load(args.files[1]);
  refuse_same(reference, test);
  analysis::options how;
  how.select = args.select;
  how.strict = args.strict;
  how.worst_rows = std::max(fewest_rows, args.top);
  const progress shown("comparing");
  analysis::comparison result = analysis::compare(reference, test, how);
  if (args.fail_on_nonfinite && result.health == analysis::health::nonfinite &&
      result.verdict != analysis::outcome::differ) {
    result.verdict = analysis::outcome::differ;
    result.warnings.push_back("values that are not finite count as a difference (--fail-on nonfinite)");
  }
  return result;
}

}  // namespace

exit_code compare(const arguments& args) {
  if (const auto arrays = compare_arrays(args)) return *arrays;
  const analysis::comparison result = answer(args);
  if (args.json) {
    const std::string json = report::json(result);
    if (args.json_file.empty()) {
      write_standard_output(json);
      return code_of(result.verdict);
    }
    write_file(args.json_file, json);
  }
  write_standard_output(report::text(result, style_of(args)));
  return code_of(result.verdict);
}

}  // namespace numdiff::program

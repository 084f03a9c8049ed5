#include "commands.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "output.hpp"
#include "report/show.hpp"
#include "store/load.hpp"

namespace numdiff::program {

exit_code show(const arguments& args) {
  const model::run run = store::load_run(args.files[0]);
  const report::style s = style_of(args);
  const auto tensors = report::select_captures(run, args.select, args.tensor);
  if (!args.tensor.empty() && tensors.empty())
    throw std::runtime_error(fmt::format("{}: no tensor matches '{}': numdiff show {} lists them", run.path,
                                         args.tensor, run.path));
  if (args.json) {
    const std::string json = report::show_json(run, args.select, args.tensor, s);
    if (args.json_file.empty()) {
      write_standard_output(json);
      return exit_code::agree;
    }
    write_file(args.json_file, json);
  }
  write_standard_output(args.tensor.empty() ? report::show_run(run, args.select, s)
                                            : report::show_tensors(tensors, s));
  return exit_code::agree;
}

}  // namespace numdiff::program

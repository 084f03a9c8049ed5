#include <fmt/format.h>

#include "commands.hpp"
#include "output.hpp"
#include "report/number.hpp"
#include "store/repair.hpp"
#include "views_line.hpp"

namespace numdiff::program {

namespace {

std::string line_of(const store::repaired_file& file) {
  if (!file.written) return fmt::format("{}: nothing to repair\n", file.path);
  std::string line = fmt::format("{}: repaired, {}", file.path, report::counted(file.captures, "capture"));
  if (file.cut_rows != 0) line += fmt::format(", {} lost", report::counted(file.cut_rows, "row"));
  return line + '\n';
}

}  // namespace

exit_code repair(const arguments& args) {
  store::repair_options how;
  how.output = args.output;
  std::string text;
  bool lost = false;
  for (const store::repaired_file& file : store::repair(args.files[0], how)) {
    text += line_of(file);
    lost = lost || file.cut_rows != 0;
  }
  for (const store::written_views& views : store::make_views(how.output.empty() ? args.files[0] : how.output))
    text += views_line(views);
  write_standard_output(text);
  return lost ? exit_code::incomplete : exit_code::agree;
}

}  // namespace numdiff::program

#include "commands.hpp"
#include "output.hpp"
#include "views_line.hpp"

namespace numdiff::program {

exit_code views(const arguments& args) {
  std::string text;
  for (const store::written_views& file : store::make_views(args.files[0])) text += views_line(file);
  write_standard_output(text);
  return exit_code::agree;
}

}  // namespace numdiff::program

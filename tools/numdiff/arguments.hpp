#pragma once
// The command line, parsed.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/selection.hpp"

namespace numdiff::program {

enum class command { compare, check, drift, envelope, show, repair, views, explain, help, version };
enum class colour { automatic, always, never };

struct arguments {
  program::command command = command::compare;
  std::vector<std::string> files;
  std::string tensor;  // show: path or name of tensors, "" none
  std::string rule;    // explain: id of a rule or name of a cause, "" all
  model::selection select;
  bool json = false;
  std::string json_file;  // "" standard output
  bool strict = false;
  bool fail_on_nonfinite = false;
  double rtol = 0, atol = 0;             // files of arrays: what differences are accepted
  std::optional<std::uint64_t> max_ulp;  // the same in ulps
  program::colour colour = colour::automatic;
  std::size_t top = 10;
  std::string envelope;  // compare: file of distances of good runs, "" none
  std::string map;       // compare: file of names, "" none
  std::string output;    // envelope, repair, views: where to write, "" beside the run
  std::string text;      // help, version: what to print
};

struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws usage_error: one sentence, naming the option or argument.
arguments parse(int argc, const char* const* argv);

}  // namespace numdiff::program

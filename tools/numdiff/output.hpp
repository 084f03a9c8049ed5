#pragma once
// Where text goes: standard output, files that are complete or not there, and a terminal's progress.
#include <string>
#include <string_view>

#include "arguments.hpp"
#include "report/style.hpp"

namespace numdiff::program {

// A reader that went away (a closed pipe) is no error; anything else throws std::runtime_error.
void write_standard_output(std::string_view text);

// Written aside and renamed: at no time is there a half file. Devices and pipes are written directly.
// Throws std::runtime_error; then nothing is left behind.
void write_file(const std::string& path, std::string_view text);

// "numdiff: <message>", in one line.
void write_error(std::string_view message);

report::style style_of(const arguments& args);

// Says on a terminal what takes time, and takes it back at the end; silent elsewhere.
class progress {
 public:
  explicit progress(std::string_view what);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

 private:
  bool shown_;
};

}  // namespace numdiff::program

#pragma once
// Where text goes: standard output, files that are complete or not there, and a terminal's progress.
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "model/run.hpp"
#include "report/style.hpp"
#include "store/team.hpp"

namespace numdiff::program {

// A reader that went away (a closed pipe) is no error; anything else throws std::runtime_error.
void write_standard_output(std::string_view text);

// Written aside and renamed: at no time is there a half file. Devices and pipes are written directly.
// Throws std::runtime_error; then nothing is left behind.
void write_file(const std::string& path, std::string_view text);

// The report of a command, where --json asked for it: as text, as JSON, or both. `json` and `text` are called
// when they are needed.
template <class Json, class Text>
void write_report(const arguments& args, Json&& json, Text&& text) {
  if (args.json && args.json_file.empty()) return write_standard_output(json());
  if (args.json) write_file(args.json_file, json());
  write_standard_output(text());
}

// "numdiff: <message>", in one line.
void write_error(std::string_view message);

report::style style_of(const arguments& args);

// Reads runs, and says so on a terminal. In a helper of the team there are none.
std::vector<model::run> load(const std::vector<std::string>& paths, store::team* team);

// Throws std::runtime_error when both are of one file.
void refuse_same(const model::run& a, const model::run& b);

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

#pragma once
// Names that two programs give to one thing: which name of the reference a name of the test run stands for.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/run.hpp"

namespace numdiff::model {

enum class named { scope, op, tensor };

// One line of a mapping file. Each '*' of `reference` stands for what the '*' in the same place of `test`
// matched. A scope without '*' also maps the scopes below it.
struct mapping_line {
  named what = named::scope;
  std::string reference, test;
  std::size_t number = 0;  // of the line, from 1
};

// "scope|op|tensor REFERENCE TEST" in lines; '#' starts a comment. Throws std::invalid_argument naming the
// line.
std::vector<mapping_line> parse_mapping(std::string_view text);

// The name of the reference, `name` itself when no line maps it. The first line that fits counts; its index
// is written to `used` (lines.size(): none).
std::string mapped(const std::vector<mapping_line>& lines, named what, std::string_view name,
                   std::size_t& used);

// Gives the scopes, ops and tensors of a run the names of the reference. Returns, by line, how many names it
// was used for.
std::vector<std::size_t> rename(run& test, const std::vector<mapping_line>& lines);

}  // namespace numdiff::model

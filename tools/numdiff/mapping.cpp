#include "mapping.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>

#include "analysis/completeness.hpp"

namespace numdiff::program {

name_mapping::name_mapping(const std::string& path) : path_(path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  try {
    lines_ = model::parse_mapping(text);
  } catch (const std::invalid_argument& problem) {
    throw std::runtime_error(fmt::format("{}: {}", path, problem.what()));
  }
}

void name_mapping::rename(model::run& test) {
  uses_ = model::rename(test, lines_);
}

void name_mapping::note(analysis::comparison& result) const {
  const auto names = std::accumulate(uses_.begin(), uses_.end(), std::uint64_t{0});
  result.warnings.push_back(fmt::format("{}: {} of the test run {} as the reference names it", path_,
                                        analysis::plural(names, "name"), names == 1 ? "reads" : "read"));
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (uses_[i] > 0) continue;
    result.incomplete_because.push_back(
        fmt::format("{}: line {}: '{}' is no name in the test run", path_, lines_[i].number, lines_[i].test));
    result.complete = false;
    if (result.verdict == analysis::outcome::agree) result.verdict = analysis::outcome::incomplete;
  }
}

}  // namespace numdiff::program

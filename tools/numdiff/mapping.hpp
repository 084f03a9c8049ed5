#pragma once
// A file that says which names of the test run stand for which of the reference.
#include <string>
#include <vector>

#include "analysis/comparison.hpp"
#include "model/mapping.hpp"

namespace numdiff::program {

class name_mapping {
 public:
  // Throws std::runtime_error naming the file, and the line that cannot be understood.
  explicit name_mapping(const std::string& path);

  void rename(model::run& test);
  // Adds how many names were mapped; a line that maps none makes an agreement incomplete.
  void note(analysis::comparison& result) const;

 private:
  std::string path_;
  std::vector<model::mapping_line> lines_;
  std::vector<std::size_t> uses_;
};

}  // namespace numdiff::program

#pragma once
// A table of text columns that fits the width of the style: columns that may be cut are.
#include <string>
#include <vector>

#include "report/style.hpp"

namespace numdiff::report {

enum class align { left, right };
enum class cut { never, middle, front };  // what a cell may lose to make the table fit

struct column {
  std::string title;
  align side = align::left;
  report::cut cut = cut::never;
};

class table {
 public:
  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
  // One cell a column; missing cells are empty.
  void add(std::vector<std::string> cells);
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  // Title line (faint) and all rows, each indented by two columns.
  [[nodiscard]] std::string text(const style& s) const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace numdiff::report

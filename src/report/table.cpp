#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace numdiff::report {

namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t gap = 2;
constexpr std::size_t narrowest = 10;  // no column is cut below this

// Takes columns from the widest column that may be cut until the table fits or nothing can give.
void fit(std::vector<std::size_t>& widths, const std::vector<column>& columns, std::size_t width) {
  for (;;) {
    std::size_t total = indent + gap * (widths.size() - 1);
    std::size_t widest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c) {
      total += widths[c];
      if (columns[c].cut != cut::never && widths[c] > narrowest &&
          (widest == widths.size() || widths[c] > widths[widest]))
        widest = c;
    }
    if (total <= width || widest == widths.size()) return;
    --widths[widest];
  }
}

}  // namespace

void table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string table::text(const style& s) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns_[c].title.size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  fit(widths, columns_, s.width);
  const auto line = [&](const auto& cell) {
    std::string out(indent, ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string text =
          columns_[c].cut == cut::front ? shortened_front(cell(c), widths[c]) : shortened(cell(c), widths[c]);
      const bool left = columns_[c].side == align::left;
      out += left ? fmt::format("{:<{}}", text, widths[c]) : fmt::format("{:>{}}", text, widths[c]);
      if (c + 1 < columns_.size()) out.append(gap, ' ');
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  };
  std::string out = paint(s, ink::faint, line([&](std::size_t c) { return columns_[c].title; })) + '\n';
  for (const auto& row : rows_) out += line([&](std::size_t c) { return row[c]; }) + '\n';
  return out;
}

}  // namespace numdiff::report

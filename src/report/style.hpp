#pragma once
// How a text report looks: colour, width and how many rows of a list are shown.
#include <cstddef>
#include <string>
#include <string_view>

namespace numdiff::report {

struct style {
  bool colour = false;
  std::size_t width = 80;  // columns
  std::size_t top = 10;    // rows of a list; the rest is counted
};

enum class ink { plain, bold, good, bad, warn, faint };

// `text` in the colour of `i`, or as it is without colour.
std::string paint(const style& s, ink i, std::string_view text);

// `text` without what would move the cursor or colour the terminal: a program may call its tensors as it
// likes. Line breaks become \n, other control characters \x1b; UTF-8 stays.
std::string printable(std::string_view text);

// Words of printable `text` broken at s.width; the first line starts behind `head` (already as wide as
// `indent`), later lines are indented by `indent` columns. Ends with a newline.
std::string wrapped(const style& s, std::string_view head, std::size_t indent, std::string_view text);

// "and 37 more" line for what a list of `total` rows left out, "" when it is complete.
std::string residue(const style& s, std::size_t total, std::string_view what);

// `text` cut in the middle to `columns`, so that beginning and end stay readable.
std::string shortened(std::string_view text, std::size_t columns);
// `text` cut at the front to `columns`, for places, whose end says most.
std::string shortened_front(std::string_view text, std::size_t columns);

}  // namespace numdiff::report

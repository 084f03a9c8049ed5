#include "report/arrays/array_rows.hpp"

#include <fmt/format.h>

#include <cmath>

#include "report/arrays/array_text.hpp"
#include "report/number.hpp"

namespace numdiff::report {

namespace {

using analysis::array_row;
using analysis::extreme;

std::string at(const extreme& e) {
  const std::string index = index_text(e.index);
  return fmt::format("{}{} -> {}", index.empty() ? "" : "at " + index + ": ", e.reference, e.test);
}

void line(std::string& out, const char* label, const std::string& size, const extreme& e, const style& s) {
  if (!e.there) return;
  constexpr std::size_t indent = 20;
  out += wrapped(s, fmt::format("    {:<16}", label), indent, size.empty() ? at(e) : size + " " + at(e));
}

// Whole ulps in full; parts of one where two formats are compared.
std::string ulps(long double value) {
  return value == std::floor(value) ? fmt::format("{:.20g}", value)
                                    : fmt::format("{:.4g}", static_cast<double>(value));
}

void counted_in(std::string& text, std::uint64_t n, const char* what) {
  if (n == 0) return;
  if (!text.empty()) text += ", ";
  text += fmt::format("{} {}", counted(n), what);
}

}  // namespace

std::string index_text(const model::extents& index) {
  if (index.empty()) return "";
  std::string text;
  for (const std::uint64_t i : index) text += (text.empty() ? "[" : ", ") + fmt::format("{}", i);
  return text + "]";
}

std::string row_block(const array_row& row, const style& s) {
  const std::string type = row.reference_type == row.test_type
                               ? row.reference_type
                               : row.reference_type + " against " + row.test_type;
  std::string out = wrapped(s, "  ", 4,
                            fmt::format("{} ({}): {} of {} differ", row.name, type, counted(row.different),
                                        counted(row.compared, "element")));
  line(out, "first", "", row.first, s);
  if (!row.numeric) return out;
  line(out, "worst absolute",
       row.absolute.exact.empty() ? exact(static_cast<double>(row.absolute.value)) : row.absolute.exact,
       row.absolute, s);
  line(out, "worst relative", fmt::format("{:.4g}", static_cast<double>(row.relative.value)), row.relative,
       s);
  line(out, "worst ulp", ulps(row.ulp.value), row.ulp, s);
  line(out, "against zero", fmt::format("{:.4g}", static_cast<double>(row.zero.value)), row.zero, s);
  std::string sizes;
  if (row.absolute.there) sizes = fmt::format("relative L2 {:.4g}, bias {:.4g}", row.relative_l2, row.bias);
  const std::string notes = row_notes(row);
  if (!notes.empty()) sizes += (sizes.empty() ? "" : "; ") + notes;
  return sizes.empty() ? out : out + wrapped(s, "    ", 4, sizes);
}

std::string row_notes(const array_row& row) {
  std::string text;
  counted_in(text, row.nan_reference, "NaN in the reference only");
  counted_in(text, row.nan_test, "NaN in the test only");
  counted_in(text, row.inf_mismatch, "Inf against another value");
  counted_in(text, row.against_zero, "against a zero of the reference");
  counted_in(text, row.nan_both, "NaN in both");
  counted_in(text, row.inf_both, "Inf in both");
  counted_in(text, row.zero_signs,
             row.zero_signs == 1 ? "zero of the other sign" : "zeros of the other sign");
  counted_in(text, row.accepted, "within the tolerance");
  return text;
}

}  // namespace numdiff::report

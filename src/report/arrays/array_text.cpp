#include "report/arrays/array_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/arrays/array_rows.hpp"
#include "report/number.hpp"
#include "report/table.hpp"

namespace numdiff::report {

namespace {

using analysis::array_comparison;
using analysis::arrays_verdict;
using analysis::structure_kind;

ink ink_of(arrays_verdict v) {
  return v == arrays_verdict::agree ? ink::good : v == arrays_verdict::differ ? ink::bad : ink::warn;
}

std::string side_line(const char* side, const analysis::arrays_side& file, const style& s) {
  std::string what = file.format + ", " + counted(file.arrays, "array");
  if (file.attributes != 0) what += ", " + counted(file.attributes, "attribute");
  return wrapped(s, fmt::format("{:<11}", side), 11, fmt::format("{} ({})", file.path, what));
}

std::string title(const char* words, const style& s) {
  return '\n' + paint(s, ink::bold, words) + '\n';
}

std::string structure(const array_comparison& c, const style& s) {
  if (c.structure.empty()) return {};
  table rows({{"what", align::left, cut::never},
              {"name", align::left, cut::front},
              {"reference", align::left, cut::middle},
              {"test", align::left, cut::middle}});
  for (const auto& d : c.structure) {
    if (rows.size() == s.top) break;
    rows.add({name_of(d.kind), d.name, d.reference, d.test});
  }
  return title("Structure", s) + rows.text(s) + residue(s, c.structure.size(), "");
}

std::string differences(const array_comparison& c, const style& s) {
  if (c.different.empty()) return {};
  std::string out = title("Values that differ", s);
  for (std::size_t i = 0; i < std::min(s.top, c.different.size()); ++i) out += row_block(c.different[i], s);
  return out + residue(s, c.different.size(), "");
}

std::string noted(const array_comparison& c, const style& s) {
  if (c.noted.empty()) return {};
  std::string out = title("Equal, and worth knowing", s);
  for (std::size_t i = 0; i < std::min(s.top, c.noted.size()); ++i)
    out += wrapped(s, "  ", 4, c.noted[i].name + ": " + row_notes(c.noted[i]));
  return out + residue(s, c.noted.size(), "");
}

std::string skipped(const array_comparison& c, const style& s) {
  if (c.skipped.empty()) return {};
  std::string out = title("Not compared", s);
  for (std::size_t i = 0; i < std::min(s.top, c.skipped.size()); ++i)
    out += wrapped(s, "  ", 4, c.skipped[i].name + ": " + c.skipped[i].reason);
  return out + residue(s, c.skipped.size(), "");
}

std::string totals(const array_comparison& c, const style& s) {
  table rows({{"all", align::right, cut::never},
              {"= equal", align::right, cut::never},
              {"+ different", align::right, cut::never},
              {"+ structure", align::right, cut::never},
              {"+ only there", align::right, cut::never},
              {"+ not compared", align::right, cut::never}});
  rows.add({counted(c.total()), counted(c.equal), counted(c.differing), counted(c.structural),
            counted(c.unmatched), counted(c.left_out)});
  return title("Arrays and attributes", s) + rows.text(s);
}

std::string heading(const array_comparison& c) {
  if (c.verdict == arrays_verdict::agree)
    return c.accepts.any() ? "The files agree within the tolerance."
                           : "The files agree: all values are equal.";
  if (c.verdict == arrays_verdict::incomplete)
    return c.skipped.empty() ? "The comparison is incomplete: there was nothing to compare."
                             : "The comparison is incomplete: what could be compared agrees.";
  return "The files differ.";
}

std::string tolerance_text(const analysis::tolerance& t) {
  if (t.ulps) return fmt::format("accepted   up to {} apart", counted(*t.ulps, "ulp"));
  return fmt::format("accepted   |test - reference| <= {} + {} x |reference|", exact(t.absolute),
                     exact(t.relative));
}

std::uint64_t deciding(const array_comparison& c) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(c.structure, &analysis::structure_difference::decides));
}

std::string told_differences(const array_comparison& c) {
  std::string words;
  if (!c.different.empty())
    words =
        fmt::format("{} of {} in {}, worst {}", counted(c.elements_different), counted(c.elements, "element"),
                    counted(c.with_different_values, "array"), printable(c.different.front().name));
  if (const std::uint64_t n = deciding(c); n != 0) {
    const auto first = std::ranges::find_if(c.structure, &analysis::structure_difference::decides);
    words += fmt::format("{}{} of structure, first {} ({})", words.empty() ? "" : "; ",
                         counted(n, "difference"), printable(first->name), name_of(first->kind));
  }
  if (words.empty()) words = "values that are not finite count as a difference (--fail-on nonfinite)";
  return words;
}

}  // namespace

const char* name_of(arrays_verdict v) noexcept {
  return v == arrays_verdict::agree ? "agree" : v == arrays_verdict::differ ? "differ" : "incomplete";
}

const char* name_of(structure_kind k) noexcept {
  switch (k) {
    case structure_kind::only_reference: return "only in reference";
    case structure_kind::only_test: return "only in test";
    case structure_kind::kind: return "kind";
    case structure_kind::shape: return "shape";
    case structure_kind::type: return "type";
    case structure_kind::member: return "member";
    case structure_kind::link: return "link";
  }
  return "";
}

std::string last_line(const array_comparison& c) {
  std::string line = fmt::format("numdiff: {}: ", name_of(c.verdict));
  switch (c.verdict) {
    case arrays_verdict::agree:
      line += fmt::format("{} of {} equal, {}", counted(c.equal), counted(c.total(), "array"),
                          counted(c.elements, "element"));
      break;
    case arrays_verdict::differ: line += told_differences(c); break;
    case arrays_verdict::incomplete:
      line += fmt::format("{} of {} equal", counted(c.equal), counted(c.total(), "array"));
      if (!c.skipped.empty())
        line += fmt::format(", {} not compared, first {}: {}", counted(c.skipped.size()),
                            printable(c.skipped.front().name), printable(c.skipped.front().reason));
      break;
  }
  if (c.nonfinite) line += "; health: non-finite";
  return line;
}

std::string text(const array_comparison& c, const style& s) {
  std::string out = side_line("reference", c.reference, s) + side_line("test", c.test, s);
  if (c.accepts.any()) out += tolerance_text(c.accepts) + '\n';
  out += '\n' + paint(s, ink_of(c.verdict), heading(c)) + '\n';
  out += structure(c, s) + differences(c, s) + noted(c, s) + skipped(c, s) + totals(c, s);
  return out + '\n' + paint(s, ink_of(c.verdict), last_line(c)) + '\n';
}

}  // namespace numdiff::report

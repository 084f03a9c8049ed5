#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/number.hpp"
#include "report/show.hpp"
#include "report/tensor.hpp"

namespace numdiff::report {

namespace {

constexpr std::size_t most_bars = 32;
constexpr std::size_t bar_width = 40;

std::string line(const style& s, const char* label, const std::string& text) {
  return wrapped(s, paint(s, ink::faint, fmt::format("  {:<10}", label)), 12, text);
}

// One bar a row; neighbouring octaves share a row when there are more than fit.
std::string bars(const model::histogram& h, const style& s) {
  const std::size_t step = (h.counts.size() + most_bars - 1) / most_bars;
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    if (i % step == 0) sums.push_back(0);
    sums.back() += h.counts[i];
  }
  const std::uint64_t largest = *std::max_element(sums.begin(), sums.end());
  std::string out = line(s, "histogram", "elements by power of two of their magnitude");
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double share = largest == 0 ? 0 : static_cast<double>(sums[i]) / static_cast<double>(largest);
    auto length = static_cast<std::size_t>(std::ceil(share * static_cast<double>(bar_width)));
    if (sums[i] == 0) length = 0;
    out += fmt::format("    2^{:<6}{:<{}} {}\n", h.first + static_cast<int>(i * step),
                       std::string(length, '#'), bar_width, counted(sums[i]));
  }
  return out;
}

std::string classes(const model::capture_row& row) {
  std::string text = counted(row.count);
  const auto add = [&](std::int64_t count, const char* what) {
    if (count != 0) text += fmt::format(", {} {}", counted(count), what);
  };
  add(row.nan, "NaN");
  add(row.positive_infinity, "+Inf");
  add(row.negative_infinity, "-Inf");
  add(row.zero, "zero");
  add(row.negative_zero, "negative zero");
  add(row.subnormal, "subnormal");
  add(row.maximum_positive, "at the maximum");
  add(row.maximum_negative, "at the negative maximum");
  add(row.hidden, "hidden");
  if (row.first_nonfinite >= 0) text += fmt::format("; first non-finite at {}", counted(row.first_nonfinite));
  return text;
}

std::string cast_text(const model::cast_row& cast) {
  return fmt::format(
      "from {}: {} beyond the maximum, {} overflowing, {} flushed to zero, {} subnormal of {}; amax {}; "
      "squared "
      "error {} clipping, {} rounding, {} underflow",
      name_of(static_cast<dtype>(cast.source_dtype)), counted(cast.beyond_maximum), counted(cast.overflowing),
      counted(cast.flushed), counted(cast.subnormal), counted(cast.count), exact(cast.amax),
      rounded(cast.clip_sq), rounded(cast.rounding_sq), rounded(cast.underflow_sq));
}

std::string tensor_block(const shown& item, const style& s) {
  const model::rank_data& rank = *item.rank;
  const model::capture_row& row = *item.row;
  std::string out = paint(s, ink::bold, printable(item.path)) + '\n';
  out += line(s, "where", fmt::format("rank {}, seq {}", rank.rank, row.seq));
  out +=
      line(s, "type", fmt::format("{} [{}]", name_of(static_cast<dtype>(row.dtype)), shape_text(rank, row)));
  if (row.placement != 0) out += line(s, "placement", std::string(rank.strings[row.placement]));
  if (row.scaling != 0) out += line(s, "scaling", std::string(rank.strings[row.scaling]));
  if (row.pending_factor != 1) out += line(s, "factor", exact(row.pending_factor));
  out += line(s, "elements", classes(row));
  out += line(s, "range",
              fmt::format("minimum {}, maximum {}, amax {}, smallest nonzero {}", exact(row.minimum),
                          exact(row.maximum), exact(row.amax), exact(row.smallest)));
  const moments m = moments_of(row);
  out += line(s, "moments", fmt::format("mean {}, rms {}", exact(m.mean), exact(m.rms)));
  if (const auto* cast = cast_of(rank, row)) out += line(s, "cast", cast_text(*cast));
  if (const auto* scales = scales_of(rank, row))
    out += line(s, "scales",
                fmt::format("{}, minimum {}, maximum {}, {} zero, {} not finite", counted(scales->count),
                            exact(scales->minimum), exact(scales->maximum), counted(scales->zero),
                            counted(scales->nan + scales->infinite)));
  out += line(s, "digest", fmt::format("{:016x}{:016x}", row.digest0, row.digest1));
  const model::histogram h = histogram_of(rank, row.histogram, row.histogram_bytes);
  if (!h.counts.empty()) out += bars(h, s);
  std::string why;
  std::string values;
  for (const double value : first_values(rank, row, s.top, why))
    values += (values.empty() ? "" : " ") + exact(value);
  if (static_cast<std::uint64_t>(std::max<std::int64_t>(row.count, 0)) > s.top && why.empty())
    values += " ...";
  return out + line(s, "values", why.empty() ? values : why);
}

}  // namespace

std::string show_tensors(const std::vector<shown>& tensors, const style& s) {
  std::string out;
  for (std::size_t i = 0; i < tensors.size() && i < s.top; ++i) {
    if (i != 0) out += '\n';
    out += tensor_block(tensors[i], s);
  }
  return out + residue(s, tensors.size(), "tensors of that name");
}

}  // namespace numdiff::report

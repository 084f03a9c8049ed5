#include "report/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include "analysis/expect/decode.hpp"

namespace numdiff::report {

namespace {

template <class Row>
const Row* find_by_capture(const std::vector<Row>& rows, std::uint64_t seq) {
  const auto at = std::lower_bound(rows.begin(), rows.end(), seq,
                                   [](const Row& row, std::uint64_t s) { return row.capture < s; });
  return at != rows.end() && at->capture == seq ? &*at : nullptr;
}

}  // namespace

std::vector<std::int64_t> shape_of(const model::rank_data& rank, const model::capture_row& row) {
  if (row.shape >= rank.shapes.size()) return {};
  const auto& shape = rank.shapes[row.shape];
  return {shape.extent, shape.extent + std::min<std::uint32_t>(shape.rank, 8)};
}

std::string shape_text(const model::rank_data& rank, const model::capture_row& row) {
  std::string text;
  for (const std::int64_t extent : shape_of(rank, row))
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

moments moments_of(const model::capture_row& row) {
  moments m;
  m.count = row.count - row.hidden - row.nan - row.positive_infinity - row.negative_infinity;
  if (bytes_of(static_cast<dtype>(row.dtype)) >= 2) m.count -= row.maximum_positive + row.maximum_negative;
  if (m.count <= 0) {
    m.mean = m.rms = std::numeric_limits<double>::quiet_NaN();
    return m;
  }
  const auto n = static_cast<double>(m.count);
  m.mean = std::ldexp(row.sum / n, row.sum_exponent);
  m.rms = std::ldexp(std::sqrt(row.sum_sq / n), row.sum_exponent);
  return m;
}

model::histogram histogram_of(const model::rank_data& rank, std::int64_t offset, std::uint32_t bytes) {
  const std::size_t size = rank.histograms.size();
  if (offset < 0 || static_cast<std::uint64_t>(offset) > size ||
      size - static_cast<std::size_t>(offset) < bytes)
    return {};
  return model::decode_histogram(std::span(rank.histograms).subspan(static_cast<std::size_t>(offset), bytes));
}

const model::cast_row* cast_of(const model::rank_data& rank, const model::capture_row& row) {
  return find_by_capture(rank.casts, row.seq);
}

const model::scales_row* scales_of(const model::rank_data& rank, const model::capture_row& row) {
  return find_by_capture(rank.scales, row.seq);
}

std::vector<double> first_values(const model::rank_data& rank, const model::capture_row& row,
                                 std::size_t count, std::string& why) {
  why.clear();
  if (row.payload < 0) {
    why = row.dropped & dropped_values ? "dropped: no room in the queue or budget" : "not kept at this level";
    return {};
  }
  try {
    std::vector<double> values = analysis::decode(rank, row).values;
    values.resize(std::min(values.size(), count));
    return values;
  } catch (const std::exception& problem) {
    why = problem.what();
    return {};
  }
}

}  // namespace numdiff::report

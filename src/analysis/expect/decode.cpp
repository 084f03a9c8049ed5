#include "analysis/expect/decode.hpp"

#include <span>
#include <stdexcept>

#include "analysis/expect/scale_map.hpp"
#include "numdiff/convert.hpp"

namespace numdiff::analysis {
namespace {

std::vector<std::byte> read_codes(const model::rank_data& rank, dtype type, std::int64_t first,
                                  std::int64_t elements) {
  std::vector<std::byte> codes(static_cast<std::size_t>(elements) * bytes_of(type));
  if (!codes.empty()) rank.payload->read(type, first, codes);
  return codes;
}

std::vector<double> numbers(dtype type, const std::vector<std::byte>& codes, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  if (!numdiff::decode(type, codes.data(), values.data(), values.size()))
    throw std::runtime_error("an unknown dtype");
  return values;
}

std::vector<std::int64_t> shape_of(const model::rank_data& rank, const model::capture_row& row) {
  if (row.shape >= rank.shapes.size()) throw std::runtime_error("a shape that is not stored");
  const model::shape_row& shape = rank.shapes[row.shape];
  std::vector<std::int64_t> extents;
  std::int64_t elements = 1;
  for (std::uint32_t d = 0; d < shape.rank && d < 8; ++d) {
    extents.push_back(shape.extent[d]);
    if (shape.extent[d] < 0 ||
        (shape.extent[d] > 0 && elements > (std::int64_t{1} << 40) / shape.extent[d])) {
      throw std::runtime_error("a shape of impossible size");
    }
    elements *= shape.extent[d];
  }
  return extents;
}

std::vector<double> scale_numbers(const model::rank_data& rank, const model::capture_row& row,
                                  const expect::scale_map& map) {
  const auto type = static_cast<dtype>(row.scale_dtype);
  std::vector<double> scales =
      numbers(type, read_codes(rank, type, row.scale_payload, row.scale_count), row.scale_count);
  for (double& s : scales) s = map.encodes ? 1 / s : s;
  return scales;
}

void apply_scales(const model::rank_data& rank, const model::capture_row& row, tensor& t) {
  const expect::scale_map map = expect::scale_map_of(rank.strings[row.scaling], t.shape);
  if (row.scale_payload < 0) throw std::runtime_error("the scales are not stored");
  if (row.scale_count != static_cast<std::int64_t>(map.groups))
    throw std::runtime_error("the scales do not fit the shape");
  std::vector<double> scales = scale_numbers(rank, row, map);
  for (double& s : scales) s *= map.global;
  std::vector<double> zero(1, 0.0);
  if (row.zero_point_payload >= 0) {
    const auto type = static_cast<dtype>(row.zero_point_dtype);
    zero = numbers(type, read_codes(rank, type, row.zero_point_payload, row.zero_point_count),
                   row.zero_point_count);
    if (zero.size() != 1 && zero.size() != map.groups)
      throw std::runtime_error("the zero points do not fit the scales");
  }
  t.scales.resize(t.values.size());
  for (std::size_t i = 0; i < t.values.size(); ++i) {
    const std::size_t g = map.at(i);
    t.scales[i] = scales[g];
    t.values[i] = (t.values[i] - zero[zero.size() == 1 ? 0 : g]) * scales[g];
  }
}

}  // namespace

tensor decode(const model::rank_data& rank, const model::capture_row& row) {
  if (row.count > 0 && (row.payload < 0 || rank.payload == nullptr))
    throw std::runtime_error("the values are not stored");
  tensor t;
  t.type = static_cast<dtype>(row.dtype);
  if (bytes_of(t.type) == 0) throw std::runtime_error("an unknown dtype");
  t.shape = shape_of(rank, row);
  std::int64_t elements = 1;
  for (const std::int64_t extent : t.shape) elements *= extent;
  const bool complex = is_complex(t.type);
  if (complex && elements * 2 == row.count) {
    t.shape.push_back(2);
    elements *= 2;
  }
  if (elements != row.count) throw std::runtime_error("a shape that does not hold its elements");
  t.codes = read_codes(rank, t.type, row.payload, complex ? row.count / 2 : row.count);
  t.values = numbers(t.type, t.codes, row.count);
  if (!rank.strings[row.scaling].empty()) apply_scales(rank, row, t);
  return t;
}

std::vector<double> decode_scales(const model::rank_data& rank, const model::capture_row& row) {
  if (row.scale_payload < 0 || rank.payload == nullptr || rank.strings[row.scaling].empty()) return {};
  return scale_numbers(rank, row, expect::scale_map_of(rank.strings[row.scaling], shape_of(rank, row)));
}

}  // namespace numdiff::analysis

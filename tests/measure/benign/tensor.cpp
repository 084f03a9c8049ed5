#include "measure/benign/tensor.hpp"

#include <cstring>
#include <utility>

namespace benign {

std::int64_t count_of(const shape& s) {
  std::int64_t n = 1;
  for (const std::int64_t d : s) n *= d;
  return n;
}

numdiff::view tensor::view() const {
  const numdiff::view plain(codes.data(), type,
                            numdiff::extents(extents.data(), static_cast<int>(extents.size())));
  if (scales.codes.empty()) return plain;
  const int rows = static_cast<int>(scales.block_rows), columns = static_cast<int>(scales.block_columns);
  switch (granularity) {
    case numdiff::granularity::tensor:
      return plain.scaled(numdiff::scale_per_tensor(scales.decode_scales.data()));
    case numdiff::granularity::row: return plain.scaled(numdiff::scale_per_row(scales.decode_scales.data()));
    case numdiff::granularity::column:
      return plain.scaled(numdiff::scale_per_column(scales.decode_scales.data()));
    case numdiff::granularity::mx:
      return plain.scaled(numdiff::scale_mx(scales.scale_codes.data()).axis(rows == 1 ? -1 : 0));
    case numdiff::granularity::nvfp4:
      return plain.scaled(
          numdiff::scale_nvfp4(scales.scale_codes.data(), static_cast<double>(scales.global_decode_scale))
              .axis(rows == 1 ? -1 : 0));
    default: return plain.scaled(numdiff::scale_block(rows, columns, scales.decode_scales.data()));
  }
}

tensor transposed(const tensor& t) {
  tensor y = t;
  std::swap(y.extents[y.extents.size() - 1], y.extents[y.extents.size() - 2]);
  const auto columns = static_cast<std::size_t>(t.last());
  const auto rows = static_cast<std::size_t>(y.last());
  const std::size_t width = t.codes.size() / t.size();
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::size_t matrix = i / (rows * columns), r = i / columns % rows, c = i % columns;
    const std::size_t at = (matrix * columns + c) * rows + r;
    y.x[at] = t.x[i];
    std::memcpy(y.codes.data() + at * width, t.codes.data() + i * width, width);
  }
  return y;
}

numdiff::view transposed_view(const tensor& t) {
  shape extents = t.extents, strides(t.extents.size());
  std::int64_t step = 1;
  for (std::size_t d = extents.size(); d > 0; --d) {
    strides[d - 1] = step;
    step *= extents[d - 1];
  }
  std::swap(extents[extents.size() - 1], extents[extents.size() - 2]);
  std::swap(strides[extents.size() - 1], strides[extents.size() - 2]);
  const int rank = static_cast<int>(extents.size());
  return numdiff::view(t.codes.data(), t.type, numdiff::extents(extents.data(), rank))
      .strides(numdiff::extents(strides.data(), rank));
}

tensor stored(dtype type, const shape& extents, const values& x, numdiff::rounding how,
              std::uint64_t* noise) {
  tensor t;
  t.type = type;
  t.extents = extents;
  t.x = x;
  const auto width = static_cast<std::size_t>(numdiff::bytes_of(type));
  t.codes.resize(x.size() * width);
  for (std::size_t i = 0; i < x.size(); ++i) {
    numdiff::cast_rule rule;
    rule.round = how;
    std::uint64_t bits = 0;
    if (noise != nullptr) bits = *noise = *noise * 6364136223846793005U + 1442695040888963407U;
    bits = (bits ^ (bits >> 29U)) * 0xbf58476d1ce4e5b9U;
    const std::uint64_t code = numdiff::encode(type, x[i], rule, bits ^ (bits >> 32U));
    std::memcpy(t.codes.data() + i * width, &code, width);
    t.x[i] = numdiff::decode(type, code);
  }
  return t;
}

tensor quantised(const tensor& x, const numdiff::recipe& how) {
  const auto columns = static_cast<std::size_t>(x.last());
  const std::size_t rows = x.size() / columns;
  std::vector<float> source(x.size());
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(x[i]);
  tensor t;
  t.extents = x.extents;
  t.granularity = how.per;
  t.scales = numdiff::quantize(source.data(), rows, columns, how);
  t.type = t.scales.type;
  t.codes.resize(t.scales.codes.size());
  std::memcpy(t.codes.data(), t.scales.codes.data(), t.codes.size());
  t.x.resize(x.size());
  for (std::size_t i = 0; i < t.x.size(); ++i) t.x[i] = t.scales.value(i / columns, i % columns);
  return t;
}

}  // namespace benign

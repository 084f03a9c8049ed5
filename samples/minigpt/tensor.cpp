#include "tensor.hpp"

#include <cstring>

#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"

namespace minigpt {
namespace {

using numdiff::bytes_of;

template <class Word>
Word load(const std::byte* p) {
  Word w;
  std::memcpy(&w, p, sizeof w);
  return w;
}

// Calls `f` with the format as a compile-time constant, for those the sample stores.
template <class F>
void with_format(dtype type, F f) {
  switch (type) {
    case dtype::f64: return f.template operator()<dtype::f64, std::uint64_t>();
    case dtype::f32: return f.template operator()<dtype::f32, std::uint32_t>();
    case dtype::bf16: return f.template operator()<dtype::bf16, std::uint16_t>();
    case dtype::f16: return f.template operator()<dtype::f16, std::uint16_t>();
    case dtype::f8e4m3fn: return f.template operator()<dtype::f8e4m3fn, std::uint8_t>();
    case dtype::f8e5m2: return f.template operator()<dtype::f8e5m2, std::uint8_t>();
    case dtype::i32: return f.template operator()<dtype::i32, std::uint32_t>();
    default: return;
  }
}

template <class T>
void apply(const block_scales& s, std::int64_t rows, std::int64_t columns, T* values) {
  const std::int64_t across = (columns + s.columns - 1) / s.columns;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      values[r * columns + c] *=
          static_cast<T>(s.values[static_cast<std::size_t>(r / s.rows * across + c / s.columns)]);
}

}  // namespace

tensor::tensor(dtype t, shape s, placement p) : type(t), extents(std::move(s)), place(std::move(p)) {
  codes.resize(static_cast<std::size_t>(count()) * bytes_of(type));
}

std::int64_t tensor::count() const {
  std::int64_t n = 1;
  for (std::int64_t e : extents) n *= e;
  return n;
}

template <class T>
std::vector<T> decode(const tensor& t) {
  const auto n = static_cast<std::size_t>(t.count());
  std::vector<T> values(n);
  with_format(t.type, [&]<dtype Type, class Word>() {
    for (std::size_t i = 0; i < n; ++i)
      values[i] = static_cast<T>(numdiff::decode_as<Type>(load<Word>(t.codes.data() + i * sizeof(Word))));
  });
  if (t.scales.how != numdiff::granularity::none) apply(t.scales, t.rows(), t.columns(), values.data());
  return values;
}

template <class T>
void encode(const std::vector<T>& values, tensor& t) {
  with_format(t.type, [&]<dtype Type, class Word>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto code = static_cast<Word>(numdiff::encode_as<Type>(values[i]));
      std::memcpy(t.codes.data() + i * sizeof(Word), &code, sizeof code);
    }
  });
}

template std::vector<float> decode(const tensor&);
template std::vector<double> decode(const tensor&);
template void encode(const std::vector<float>&, tensor&);
template void encode(const std::vector<double>&, tensor&);

double first_value(const tensor& t) {
  return decode<double>(t)[0];
}

tensor like(const tensor& t, dtype type) {
  return tensor(type, t.extents, t.place);
}

}  // namespace minigpt

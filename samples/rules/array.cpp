#include "array.hpp"

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace reproduce {

namespace {

std::size_t count_of(const std::vector<std::int64_t>& shape) {
  std::size_t n = 1;
  for (const std::int64_t d : shape) n *= static_cast<std::size_t>(d);
  return n;
}

}  // namespace

array::array(numdiff::dtype type, std::vector<std::int64_t> shape, double value)
    : array(type, shape, std::vector<double>(count_of(shape), value)) {}

array::array(numdiff::dtype type, std::vector<std::int64_t> shape, const std::vector<double>& values,
             numdiff::cast_rule rule)
    : type_(type),
      width_(static_cast<std::size_t>(numdiff::bytes_of(type))),
      shape_(std::move(shape)),
      codes_(count_of(shape_) * width_) {
  if (values.size() != size()) throw std::runtime_error("values do not fill the shape");
  for (std::size_t i = 0; i < values.size(); ++i) set(i, values[i], rule);
}

double array::operator[](std::size_t i) const {
  std::uint64_t code = 0;
  std::memcpy(&code, codes_.data() + i * width_, width_);
  return numdiff::decode(type_, code);
}

void array::set(std::size_t i, double value, numdiff::cast_rule rule) {
  const std::uint64_t code = numdiff::encode(type_, value, rule);
  std::memcpy(codes_.data() + i * width_, &code, width_);
}

array array::as(numdiff::dtype type, numdiff::cast_rule rule) const {
  return array(type, shape_, values(), rule);
}

std::vector<double> array::values() const {
  std::vector<double> list(size());
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = (*this)[i];
  return list;
}

numdiff::view array::seen() const {
  return numdiff::view(codes_.data(), type_,
                       numdiff::extents(shape_.data(), static_cast<int>(shape_.size())));
}

array mapped(numdiff::dtype type, std::vector<std::int64_t> shape,
             const std::function<double(std::size_t)>& f, numdiff::cast_rule rule) {
  array a(type, std::move(shape));
  for (std::size_t i = 0; i < a.size(); ++i) a.set(i, f(i), rule);
  return a;
}

double rounded(numdiff::dtype type, double x, numdiff::cast_rule rule) {
  return numdiff::decode(type, numdiff::encode(type, x, rule));
}

std::vector<double> normal(std::size_t count, std::uint64_t seed, double deviation, double mean) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (static_cast<double>(state >> 11U) + 0.5) * 0x1p-53;
  };
  std::vector<double> list(count);
  for (double& x : list) {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    x = mean + deviation * radius * std::cos(6.283185307179586 * uniform());
  }
  return list;
}

}  // namespace reproduce

#include "model/arrays.hpp"

namespace numdiff::model {

bool multiply(const extents& shape, std::uint64_t& product) noexcept {
  product = 1;
  bool empty = false;
  for (const std::uint64_t extent : shape) empty = empty || extent == 0;
  if (empty) {
    product = 0;
    return true;
  }
  for (const std::uint64_t extent : shape)
    if (__builtin_mul_overflow(product, extent, &product) || product >> 62 != 0) return false;
  return true;
}

std::uint64_t box::size() const noexcept {
  std::uint64_t product = 1;
  for (const std::uint64_t n : count) product *= n;
  return product;
}

bool same_type(const element_part& a, const element_part& b) noexcept {
  return a.name == b.name && a.kind == b.kind && a.type == b.type && a.shape == b.shape;
}

}  // namespace numdiff::model

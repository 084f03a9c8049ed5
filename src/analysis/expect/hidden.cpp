#include "analysis/expect/hidden.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/expect/shapes.hpp"

namespace numdiff::analysis::expect {

bool hides(const operand& x) noexcept {
  return x.row != nullptr && x.row->hidden > 0;
}

std::vector<std::uint8_t> zero_coded(const operand& x) {
  const std::size_t n = x.value.values.size(), size = n > 0 ? x.value.codes.size() / n : 0;
  std::vector<std::uint8_t> zero(n, 0);
  for (std::size_t i = 0; i < n && size > 0; ++i) {
    const auto first = x.value.codes.begin() + static_cast<std::ptrdiff_t>(i * size);
    zero[i] = std::all_of(first, first + static_cast<std::ptrdiff_t>(size),
                          [](std::byte b) { return b == std::byte{0}; });
  }
  return zero;
}

std::vector<std::uint8_t> hidden_by_code(const operand& x) {
  if (!hides(x)) return {};
  std::vector<std::uint8_t> places = zero_coded(x);
  require(std::count(places.begin(), places.end(), 1) == x.row->hidden,
          "which elements are hidden is not told");
  return places;
}

std::vector<std::uint8_t> hidden_places(const operand& x, const tensor& result) {
  if (!hides(x)) return {};
  std::vector<std::uint8_t> places = zero_coded(x);
  if (std::count(places.begin(), places.end(), 1) != x.row->hidden) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (result.values[i] != 0 && !std::isnan(result.values[i])) places[i] = 0;
    }
  }
  require(std::count(places.begin(), places.end(), 1) == x.row->hidden,
          "which elements are hidden is not told");
  return places;
}

}  // namespace numdiff::analysis::expect

#include "analysis/expect/axes.hpp"

#include <algorithm>

#include "analysis/expect/shapes.hpp"

namespace numdiff::analysis::expect {
namespace {

using extents = std::vector<std::int64_t>;

extents without_ones(const extents& shape) {
  extents rest;
  std::ranges::copy_if(shape, std::back_inserter(rest), [](std::int64_t d) { return d != 1; });
  return rest;
}

// Offsets of all indices over these dimensions, row-major.
std::vector<std::size_t> offsets(const extents& shape, unsigned dimensions) {
  std::vector<std::size_t> all{0};
  std::size_t stride = 1;
  std::vector<std::size_t> strides(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= static_cast<std::size_t>(shape[d]);
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if ((dimensions >> d & 1) == 0) continue;
    std::vector<std::size_t> longer;
    longer.reserve(all.size() * static_cast<std::size_t>(shape[d]));
    for (const std::size_t first : all)
      for (std::int64_t i = 0; i < shape[d]; ++i)
        longer.push_back(first + static_cast<std::size_t>(i) * strides[d]);
    all = std::move(longer);
  }
  return all;
}

extents chosen(const extents& shape, unsigned dimensions) {
  extents part;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if ((dimensions >> d & 1) != 0) part.push_back(shape[d]);
  return part;
}

}  // namespace

std::vector<reduction_axes> reductions(const extents& x, const extents& y, usual_axes usual) {
  const extents dims = without_ones(x), left = without_ones(y);
  const unsigned all = (1U << dims.size()) - 1;
  const std::size_t n = count_of(y);
  // Reduced dimensions of the two usual forms: the first ones, or the last ones.
  std::vector<unsigned> order;
  const auto ends = [&](bool leading) {
    for (std::size_t d = 0; d <= dims.size(); ++d) {
      const unsigned low = (1U << d) - 1;
      order.push_back(leading ? low : all & ~(all >> d));
    }
  };
  ends(usual == usual_axes::leading);
  ends(usual == usual_axes::trailing);
  const std::size_t usual_forms = order.size();
  for (unsigned m = 0; m <= all; ++m) order.push_back(m);
  std::vector<unsigned> found;
  const auto take = [&](unsigned reduced) {
    if (std::ranges::find(found, reduced) == found.end()) found.push_back(reduced);
  };
  for (const unsigned m : order)
    if (chosen(dims, all & ~m) == left) take(m);
  for (std::size_t i = 0; i < usual_forms && found.empty(); ++i)
    if (count_of(chosen(dims, all & ~order[i])) == n) take(order[i]);
  std::vector<reduction_axes> result;
  for (const unsigned m : found) result.push_back({offsets(dims, all & ~m), offsets(dims, m)});
  return result;
}

double distance_to(const expectation& e, const tensor& stored) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < e.exact.size() && i < stored.values.size(); ++i) {
    const double d = e.exact[i] - stored.values[i];
    if (std::isfinite(d)) sum += d * d;
  }
  return sum;
}

}  // namespace numdiff::analysis::expect

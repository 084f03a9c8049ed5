#include "analysis/arrange.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace numdiff::analysis {

namespace {

using extents = std::vector<std::int64_t>;

constexpr std::size_t sampled = 2048, most_dimensions = 4;

extents without_ones(const extents& shape) {
  extents out;
  std::ranges::copy_if(shape, std::back_inserter(out), [](std::int64_t d) { return d != 1; });
  return out;
}

std::int64_t count_of(const extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// Whether neighbouring dimensions of `fine` join to `coarse`.
bool joins_to(const extents& fine, const extents& coarse) {
  std::size_t at = 0;
  for (const std::int64_t want : coarse) {
    std::int64_t have = 1;
    while (have < want && at < fine.size()) have *= fine[at++];
    if (have != want) return false;
  }
  return at == fine.size();
}

// The shape itself, and with one dimension split so that a dimension of `to` appears.
std::set<extents> refinements(const extents& shape, const extents& to) {
  std::set<extents> all = {shape};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    for (const std::int64_t d : to) {
      if (d <= 1 || d >= shape[i] || shape[i] % d != 0) continue;
      for (const std::int64_t first : {d, shape[i] / d}) {
        extents split = shape;
        split[i] = first;
        split.insert(split.begin() + static_cast<std::ptrdiff_t>(i) + 1, shape[i] / first);
        all.insert(std::move(split));
      }
    }
  }
  return all;
}

// Where element q of the permuted tensor comes from.
class source_of {
 public:
  source_of(const extents& shape, const std::vector<std::size_t>& order) {
    extents strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    for (const std::size_t axis : order) {
      sizes_.push_back(static_cast<std::size_t>(shape[axis]));
      strides_.push_back(static_cast<std::size_t>(strides[axis]));
    }
  }
  std::size_t operator()(std::size_t q) const {
    std::size_t at = 0;
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      at += q % sizes_[i] * strides_[i];
      q /= sizes_[i];
    }
    return at;
  }

 private:
  std::vector<std::size_t> sizes_, strides_;
};

template <class Source>
arrangement compared(std::span<const double> values, std::span<const double> like, const Source& source) {
  const std::size_t step = std::max<std::size_t>(1, like.size() / sampled) | 1;
  double apart = 0, size = 0, own = 0, both = 0;
  for (std::size_t q = 0; q < like.size(); q += step) {
    const double x = values[source(q)], y = like[q];
    if (std::isfinite(x) != std::isfinite(y)) return {{}, HUGE_VAL, HUGE_VAL};
    if (!std::isfinite(x)) continue;
    apart += (x - y) * (x - y);
    size += y * y;
    own += x * x;
    both += x * y;
  }
  arrangement a;
  a.distance = size > 0 ? std::sqrt(apart / size) : apart > 0 ? HUGE_VAL : 0;
  // Where one of the two is zero there is no angle.
  a.angle = size > 0 && own > 0 ? std::sqrt(std::max(0.0, 1 - both / size * (both / own))) : a.distance;
  return a;
}

}  // namespace

std::vector<double> arrangement::apply(std::span<const double> values) const {
  if (source.empty()) return {values.begin(), values.end()};
  std::vector<double> out(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) out[i] = values[source[i]];
  return out;
}

std::optional<arrangement> arrange(std::span<const double> values, const extents& from, const extents& to,
                                   std::span<const double> like) {
  if (values.size() != like.size() || count_of(from) != count_of(to) || values.empty()) return std::nullopt;
  const extents source = without_ones(from), target = without_ones(to);
  std::optional<arrangement> best;
  std::optional<source_of> how;
  if (joins_to(source, target) || joins_to(target, source)) best = compared(values, like, std::identity());
  const std::optional<arrangement> as_it_stands = best;
  for (const extents& fine : refinements(source, target)) {
    if (fine.size() > most_dimensions) continue;
    std::vector<std::size_t> order(fine.size());
    std::iota(order.begin(), order.end(), 0U);
    while (std::next_permutation(order.begin(), order.end())) {
      extents permuted;
      for (const std::size_t axis : order) permuted.push_back(fine[axis]);
      if (!joins_to(permuted, target)) continue;
      const source_of candidate(fine, order);
      arrangement one = compared(values, like, candidate);
      if (best && (best->distance == 0 || !(one.angle < best->angle))) continue;
      best = std::move(one);
      how = candidate;
    }
  }
  if (best && as_it_stands && best->angle > same_tensor) return as_it_stands;
  if (best && how) {
    best->source.resize(values.size());
    for (std::size_t q = 0; q < values.size(); ++q) best->source[q] = (*how)(q);
  }
  return best;
}

}  // namespace numdiff::analysis

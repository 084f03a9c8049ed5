#include "analysis/expect/scale_misuse.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/expect/scale_map.hpp"

namespace numdiff::analysis::expect {
namespace {

using regrouped = std::function<std::size_t(std::size_t)>;

// One group that is off may have any scale by chance, and so may all that are off by one factor.
bool tells(const std::vector<double>& groups, const regrouped& f) {
  constexpr double alike = 0x1p-6;
  double first = 1;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double ratio = groups[f(g)] / groups[g];
    if (std::fabs(ratio - 1) < alike) continue;
    if (first == 1) first = ratio;
    if (std::fabs(ratio / first - 1) >= alike) return true;
  }
  return false;
}

// The scale of group f(g) over that of group g.
std::vector<double> of_other_groups(const operand& x, const regrouped& f) {
  const scale_map map = scale_map_of(x.scaling, x.value.shape);
  std::vector<double> groups(map.groups, 1), ratio(x.value.values.size(), 1);
  for (std::size_t i = 0; i < ratio.size(); ++i) groups[map.at(i)] = x.value.scales[i];
  if (!tells(groups, f)) return {};
  for (std::size_t i = 0; i < ratio.size(); ++i) ratio[i] = groups[f(map.at(i))] / x.value.scales[i];
  return ratio;
}

}  // namespace

std::vector<scale_misuse> scale_misuses(const operand& x) {
  std::vector<scale_misuse> all;
  const std::vector<double>& scales = x.value.scales;
  if (scales.empty() || x.scaling.empty()) return all;
  all.push_back({"scale-direction", "encode and decode scale are swapped", [&scales] {
                   std::vector<double> ratio(scales.size());
                   std::transform(scales.begin(), scales.end(), ratio.begin(),
                                  [](double s) { return 1 / (s * s); });
                   return ratio;
                 }});
  const scale_map map = scale_map_of(x.scaling, x.value.shape);
  const std::size_t n = map.groups;
  if (n < 2) return all;
  const auto offer = [&](const char* form, regrouped f) {
    all.push_back({"scale-index", form, [&x, f = std::move(f)] { return of_other_groups(x, f); }});
  };
  offer("every group uses the scale of the next one", [n](std::size_t g) { return (g + 1) % n; });
  offer("every group uses the scale of the one before", [n](std::size_t g) { return (g + n - 1) % n; });
  offer("every group uses the first scale", [](std::size_t) { return std::size_t{0}; });
  // The last two dimensions in the other order.
  const std::size_t columns = map.rank > 0 ? map.blocks[map.rank - 1] : 1;
  const std::size_t rows = map.rank > 1 ? map.blocks[map.rank - 2] : 1;
  if (rows > 1 && columns > 1) {
    offer("the scales are read in column order", [rows, columns](std::size_t g) {
      const std::size_t at = g % (rows * columns);
      return g - at + at % columns * rows + at / columns;
    });
    offer("every row of groups uses the scales of the first row",
          [rows, columns](std::size_t g) { return g / (rows * columns) * (rows * columns) + g % columns; });
  }
  return all;
}

tensor misread(const operand& x, const scale_misuse& how) {
  tensor t = x.value;
  const std::vector<double> ratio = how.ratio();
  if (ratio.empty()) t.values.clear();
  for (std::size_t i = 0; i < t.values.size(); ++i) t.values[i] *= ratio[i];
  return t;
}

}  // namespace numdiff::analysis::expect

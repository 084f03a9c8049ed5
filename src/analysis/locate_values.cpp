// Which parts are off, element by element, and elements that changed places.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "analysis/locate.hpp"
#include "analysis/values.hpp"

namespace numdiff::analysis {

namespace {

constexpr std::int64_t window = 1 << 16;
constexpr std::size_t most_outliers = 32;

struct outlier {
  std::int64_t index = -1;
  double reference = 0, test = 0;
  std::size_t part = 0;
  [[nodiscard]] double off() const { return std::abs(test - reference); }
};

// The elements that are off farthest, worst first.
class outliers {
 public:
  void add(const outlier& o) {
    if (all_.size() == most_outliers && !(o.off() > all_.back().off())) return;
    all_.insert(std::ranges::upper_bound(all_, o.off(), std::greater<>(), &outlier::off), o);
    if (all_.size() > most_outliers) all_.pop_back();
  }
  [[nodiscard]] const std::vector<outlier>& all() const { return all_; }

 private:
  std::vector<outlier> all_;
};

struct part_tally {
  long double dd = 0, rr = 0;
  std::int64_t different = 0;
  [[nodiscard]] double relative() const {
    return dd == 0 ? 0 : rr == 0 ? HUGE_VAL : static_cast<double>(std::sqrt(dd / rr));
  }
};

// Pairs of outliers that hold each other's numbers, up to a twentieth of what they are off by. Nothing unless
// what stands out is made of such pairs between different ranks.
std::optional<swapped_elements> swaps(const std::vector<outlier>& all,
                                      const std::vector<std::int32_t>& ranks) {
  constexpr double near = 0.05;
  std::vector<bool> used(all.size());
  std::optional<swapped_elements> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (used[i]) continue;
    const double off = all[i].off();
    if (found && off <= near * all.front().off()) break;
    const auto fits = [&](std::size_t j) {
      return !used[j] && std::abs(all[i].test - all[j].reference) <= near * off &&
             std::abs(all[j].test - all[i].reference) <= near * off;
    };
    std::size_t j = i + 1;
    while (j < all.size() && !fits(j)) ++j;
    if (j == all.size() || off == 0) return std::nullopt;
    used[i] = used[j] = true;
    if (found) {
      ++found->pairs;
      continue;
    }
    if (all[i].part == all[j].part) return std::nullopt;
    const bool in_order = all[i].index < all[j].index;
    const outlier &a = all[in_order ? i : j], &b = all[in_order ? j : i];
    found = swapped_elements{a.index, b.index, ranks[a.part], ranks[b.part], 1};
  }
  // As many pairs as there is room for are no pair, but a tensor that was rearranged.
  return found && 2 * found->pairs < static_cast<std::int64_t>(most_outliers) ? found : std::nullopt;
}

}  // namespace

std::optional<located> locate_by_values(const tensor_side& reference, const tensor_side& test, side named,
                                        double limit) {
  value_reader r(reference.run, reference.capture, reference.placements);
  value_reader t(test.run, test.capture, test.placements);
  if (!r.readable() || !t.readable() || r.size() != t.size()) return std::nullopt;
  const tensor_side& mine = named == side::test ? test : reference;
  located found;
  if (mine.capture.partial) return found;  // an element has no rank of its own
  value_reader& owner = named == side::test ? t : r;
  std::vector<part_tally> parts(mine.capture.parts.size());
  outliers worst;
  std::vector<double> x, y;
  for (std::int64_t first = 0; first < r.size(); first += window) {
    x.resize(static_cast<std::size_t>(std::min(window, r.size() - first)));
    y.resize(x.size());
    r.read<double>(first, x);
    t.read<double>(first, y);
    owner.owners(first, first + static_cast<std::int64_t>(x.size()),
                 [&](std::size_t part, std::int64_t begin, std::int64_t end) {
                   part_tally& sums = parts[part];
                   for (std::int64_t i = begin; i < end; ++i) {
                     const double a = x[static_cast<std::size_t>(i - first)],
                                  b = y[static_cast<std::size_t>(i - first)];
                     if (a == b || (std::isnan(a) && std::isnan(b))) {
                       if (std::isfinite(a)) sums.rr += static_cast<long double>(a) * a;
                       continue;
                     }
                     ++sums.different;
                     if (!std::isfinite(a) || !std::isfinite(b)) continue;
                     sums.rr += static_cast<long double>(a) * a;
                     sums.dd += static_cast<long double>(b - a) * (b - a);
                     worst.add({i, a, b, part});
                   }
                 });
  }
  std::vector<std::int32_t> ranks;
  for (const member& m : mine.capture.parts) ranks.push_back(mine.run.rank_of(m).rank);
  found.swapped = swaps(worst.all(), ranks);
  std::vector<double> distances;
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    distances.push_back(parts[i].relative());
    if (parts[i].different > 0) differing.push_back(i);
  }
  if (differing.empty()) return found;
  std::vector<std::size_t> blamed = standing_out(distances, limit);
  if (blamed.empty() && std::ranges::all_of(differing, [&](std::size_t i) { return distances[i] > limit; }))
    blamed = differing;
  if (found.swapped && found.swapped->pairs == 1) {
    found.ranks = {std::min(found.swapped->first_rank, found.swapped->second_rank),
                   std::max(found.swapped->first_rank, found.swapped->second_rank)};
    found.is = located::answer::some;
  } else if (!blamed.empty()) {
    std::set<std::int32_t> named_ranks;
    for (const std::size_t i : blamed) named_ranks.insert(ranks[i]);
    found.ranks.assign(named_ranks.begin(), named_ranks.end());
    found.is = named_ranks.size() == std::set(ranks.begin(), ranks.end()).size() ? located::answer::all
                                                                                 : located::answer::some;
  }
  part_tally sum;
  for (const std::size_t i : blamed) {
    sum.dd += parts[i].dd;
    sum.rr += parts[i].rr;
  }
  if (!blamed.empty()) found.relative_l2 = sum.relative();
  return found;
}

}  // namespace numdiff::analysis

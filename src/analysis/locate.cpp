#include "analysis/locate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include "analysis/measure.hpp"
#include "model/sketch.hpp"

namespace numdiff::analysis {

namespace {

constexpr double apart = 3;  // times as far off as the others

// What digests and sketches say of one unit.
struct judged_unit {
  const share_unit* unit = nullptr;
  bool differs = true;                   // by digest, where digests compare
  std::optional<double> distance, size;  // by sketch
  sketch difference{};
};

std::optional<sketch> sum_of(const std::vector<share>& shares, double factor) {
  sketch sum{};
  for (const share& s : shares) {
    if (!s.sums) return std::nullopt;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += (*s.sums)[i] / factor;
  }
  return sum;
}

std::array<std::uint64_t, 2> digest_of(const std::vector<share>& shares) {
  std::array<std::uint64_t, 2> sum{};
  for (const share& s : shares) {
    sum[0] += s.digest[0];
    sum[1] += s.digest[1];
  }
  return sum;
}

bool scaled(const tensor_side& side) {
  return std::ranges::any_of(side.capture.parts,
                             [&](const member& m) { return side.run.capture_row_of(m).scaling != 0; });
}

// Codes mean the same on both sides.
bool digests_compare(const tensor_side& reference, const tensor_side& test) {
  const merged_capture &r = reference.capture, &t = test.capture;
  return r.has_digest && t.has_digest && r.type == t.type && r.pending_factor == t.pending_factor &&
         !scaled(reference) && !scaled(test);
}

std::vector<std::int32_t> ranks_of(const std::vector<share>& shares) {
  std::set<std::int32_t> ranks;
  for (const share& s : shares) ranks.insert(s.rank);
  return {ranks.begin(), ranks.end()};
}

// Shares whose own sketch the difference points along: what they are off by is a factor of what they hold.
// Sketches of other elements are orthogonal up to a sixteenth of their sizes.
bool along_shares(const judged_unit& u, const std::vector<share>& shares, bool of_test, double pending,
                  located& found) {
  const double length = model::norm(u.difference);
  double explained = 0, off = 0, held = 0, factor = 0;
  std::set<std::int32_t> ranks, all;
  for (const share& s : shares) {
    all.insert(s.rank);
    if (!s.sums) return false;
    const double size = model::norm(*s.sums) / std::abs(pending);
    if (!(size > 0) || !(length > 0)) continue;
    const double along = model::dot(u.difference, *s.sums) / pending / size / length;
    if (std::abs(along) < 5.0 / 16) continue;
    explained += along * along;
    ranks.insert(s.rank);
    // The difference is test - reference; the share is that of one of the two.
    const double by = along * length / size, ratio = of_test ? 1 / (1 - by) : 1 + by;
    const double reference = of_test ? size * std::abs(1 - by) : size;
    off += along * along * length * length;
    held += reference * reference;
    factor = ranks.size() == 1 ? ratio : std::numeric_limits<double>::quiet_NaN();
  }
  if (explained < 0.5 || ranks.empty()) return false;
  found.is = ranks.size() == all.size() ? located::answer::all : located::answer::some;
  found.ranks.assign(ranks.begin(), ranks.end());
  found.relative_l2 = std::sqrt(off / held);
  found.factor = factor;
  return true;
}

// Whose element it is that the digests of the whole tensor tell.
bool by_element(const judged_unit& u, side named, std::int64_t count, dtype type, located& found) {
  const auto r = digest_of(u.unit->reference), t = digest_of(u.unit->test);
  const auto one = one_change({t[0] - r[0], t[1] - r[1]}, count, type);
  if (!one) return false;
  const std::int64_t element = one->index / (is_complex(type) ? 2 : 1);
  for (const share& s : named == side::test ? u.unit->test : u.unit->reference) {
    if (!s.where.find(element, element + 1, [](const stretch&) { return true; })) continue;
    found.is = located::answer::some;
    found.ranks = {s.rank};
    found.element = one;
    return true;
  }
  return false;
}

}  // namespace

std::vector<std::size_t> standing_out(const std::vector<double>& distances, double limit) {
  std::vector<std::size_t> order(distances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::greater<>(), [&](std::size_t i) { return distances[i]; });
  std::size_t cut = 0;
  double widest = apart;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const double above = distances[order[i - 1]], below = distances[order[i]];
    const double gap = below > 0 ? above / below : above > 0 ? HUGE_VAL : 0;
    if (above > limit && gap >= widest) {
      widest = gap;
      cut = i;
    }
    if (below == 0) break;
  }
  order.resize(cut);
  return order;
}

std::string shards_of(const tensor_side& side) {
  std::string text;
  for (const mesh_axis& a :
       side.placements
           .of(side.run.rank_of(side.capture.parts.front())
                   .strings[side.run.capture_row_of(side.capture.parts.front()).placement])
           .mesh) {
    if (a.spread == spread::sharded && a.size > 1)
      text += (text.empty() ? "" : ",") + a.name + "=" + std::to_string(a.size);
  }
  return text;
}

held compare_held(const tensor_side& reference, const tensor_side& test) {
  const bool exact = digests_compare(reference, test);
  // Of shares that only some ranks hold nobody says what sketches leave out.
  const bool sums = reference.capture.excluded() + test.capture.excluded() == 0;
  const double unit = std::max(unit_roundoff(reference.capture.type), unit_roundoff(test.capture.type));
  bool any = false;
  for (const share_unit& u : units_of(reference.run, reference.capture, reference.placements, test.run,
                                      test.capture, test.placements)) {
    if (!u.complete) continue;
    if (exact) {
      any = true;
      if (digest_of(u.reference) != digest_of(u.test)) return held::differs;
      continue;
    }
    const auto r = sum_of(u.reference, reference.capture.pending_factor),
               t = sum_of(u.test, test.capture.pending_factor);
    if (!sums || !r || !t || scaled(reference) || scaled(test)) continue;
    any = true;
    if (model::distance(*r, *t) > 4 * unit * model::norm(*r)) return held::differs;
  }
  return any ? held::agrees : held::nothing;
}

located locate(const tensor_side& reference, const tensor_side& test, side named, double limit) {
  located found;
  const std::vector<share_unit> units = units_of(reference.run, reference.capture, reference.placements,
                                                 test.run, test.capture, test.placements);
  const bool exact = digests_compare(reference, test);
  const bool sums = reference.capture.excluded() == test.capture.excluded();
  const bool of_test = named == side::test;
  const auto mine = [&](const share_unit& u) -> const std::vector<share>& {
    return of_test ? u.test : u.reference;
  };
  std::vector<judged_unit> off;
  std::set<std::int32_t> holders;
  for (const share_unit& u : units) {
    for (const share& s : mine(u)) holders.insert(s.rank);
    if (!u.complete) continue;
    judged_unit j;
    j.unit = &u;
    if (exact) j.differs = digest_of(u.reference) != digest_of(u.test);
    if (!j.differs) continue;
    const auto r = sum_of(u.reference, reference.capture.pending_factor),
               t = sum_of(u.test, test.capture.pending_factor);
    if (sums && r && t) {
      for (std::size_t i = 0; i < j.difference.size(); ++i) j.difference[i] = (*t)[i] - (*r)[i];
      j.distance = model::norm(j.difference);
      j.size = model::norm(*r);
    }
    off.push_back(std::move(j));
  }
  if (off.empty()) return found;

  const bool by_distance =
      std::ranges::all_of(off, [](const judged_unit& j) { return j.distance && j.size; });
  std::vector<judged_unit> blamed = off;
  bool alike = off.size() == units.size();
  if (by_distance && off.size() > 1) {
    std::vector<double> distances;
    for (const judged_unit& j : off) distances.push_back(*j.size > 0 ? *j.distance / *j.size : HUGE_VAL);
    const std::vector<std::size_t> out = standing_out(distances, limit);
    if (!out.empty()) {
      blamed.clear();
      alike = false;
      for (const std::size_t i : out) blamed.push_back(off[i]);
    } else if (std::ranges::any_of(distances, [&](double d) { return !(d > limit); })) {
      return found;
    }
  }
  std::set<std::int32_t> ranks;
  for (const judged_unit& j : blamed)
    for (const share& s : mine(*j.unit)) ranks.insert(s.rank);
  if (by_distance) {
    double d = 0, r = 0;
    for (const judged_unit& j : blamed) {
      d += *j.distance * *j.distance;
      r += *j.size * *j.size;
    }
    if (r > 0) found.relative_l2 = std::sqrt(d / r);
  }
  // One unit of several ranks: whose it is must show in the difference itself.
  const judged_unit& first = blamed.front();
  const bool several = blamed.size() == 1 && ranks_of(mine(*first.unit)).size() > 1;
  if (exact && blamed.size() == 1 && by_element(first, named, test.capture.count, test.capture.type, found))
    return found;
  if (several) {
    const double pending = (of_test ? test : reference).capture.pending_factor;
    found.held_in_one = !(first.distance && along_shares(first, mine(*first.unit), of_test, pending, found));
    return found;
  }
  if (std::ranges::any_of(blamed, [&](const judged_unit& j) { return ranks_of(mine(*j.unit)).size() > 1; })) {
    found.held_in_one = true;
    return found;
  }
  found.ranks.assign(ranks.begin(), ranks.end());
  found.is = alike && ranks.size() == holders.size() ? located::answer::all : located::answer::some;
  return found;
}

}  // namespace numdiff::analysis

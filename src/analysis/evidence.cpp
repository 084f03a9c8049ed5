// All that is known about one capture, gathered for the rules: what its run says, and what the other adds.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "analysis/addends.hpp"
#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"
#include "analysis/values.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

// The same elements with dimensions joined or split: every boundary of one shape is a boundary of the other.
bool regroups(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const auto boundaries = [](const std::vector<std::int64_t>& shape) {
    std::set<std::int64_t> all;
    std::int64_t inner = 1;
    for (auto d = shape.rbegin(); d != shape.rend(); ++d) all.insert(inner *= *d);
    return all;
  };
  const auto x = boundaries(a), y = boundaries(b);
  return std::ranges::includes(x, y) || std::ranges::includes(y, x);
}

// Replicas of a part that is off are off like it.
void add_replicas(const run_index& run, const logical_capture& c, const merged_capture& merged,
                  located& found) {
  std::set<std::int32_t> ranks;
  for (std::size_t i = 0; i < c.members.size() && i < merged.part_of.size(); ++i) {
    const std::int32_t first = run.rank_of(merged.parts[merged.part_of[i]]).rank;
    if (std::ranges::find(found.ranks, first) != found.ranks.end())
      ranks.insert(run.rank_of(c.members[i]).rank);
  }
  found.ranks.assign(ranks.begin(), ranks.end());
  found.is = ranks.size() == c.members.size() ? located::answer::all : located::answer::some;
}

// Whether a constant is the other run's as one of the op's formats holds it.
bool rounds_to(double constant, double other, const model::op_row& op) {
  for (const std::uint16_t code : {op.input_dtype, op.input2_dtype, op.accumulate_dtype, op.output_dtype}) {
    const auto type = static_cast<dtype>(code);
    if (type == dtype::unknown || is_integer(type) || is_complex(type) || unit_roundoff(type) == 0) continue;
    if (decode(type, encode(type, other)) == constant) return true;
  }
  return false;
}

// The same finite inputs in both runs, the same format, and what one run stores at the maximum the other
// stores as an infinity or NaN.
bool saturates_otherwise(const item& x, const std::vector<item>& all) {
  const merged_capture &r = *x.reference_merged, &t = *x.test_merged;
  const std::int64_t nonfinite = t.nonfinite() - r.nonfinite();
  if (!x.any().written || r.type != t.type || nonfinite == 0 || r.largest - t.largest != nonfinite)
    return false;
  return std::ranges::all_of(all, [](const item& in) {
    if (!in.counted || in.any().written) return in.any().written;
    const bool agrees = in.verdict == verdict::equal || in.verdict == verdict::within;
    return agrees && in.test_merged->nonfinite() == 0 && in.reference_merged->nonfinite() == 0;
  });
}

}  // namespace

// Whose parts are off; asked only of what is off, since it reads values again.
void comparer::blame(evidence& e, const item& x) const {
  const bool several = reference_.index.run().ranks.size() > 1 || test_.index.run().ranks.size() > 1;
  const bool off = x.verdict == verdict::beyond || (e.local != nullptr && e.local->v == verdict::beyond);
  if (!several || !off || x.any().role == role::scalar || e.unequal_replica >= 0) return;
  if (x.reference_merged->local || x.test_merged->local || x.reference_merged->shape != x.test_merged->shape)
    return;
  const tensor_side r{reference_.index, *x.reference_merged, reference_.placements},
      t{test_.index, *x.test_merged, test_.placements};
  const auto ask = [&](side named) {
    const std::optional<located> by_values = locate_by_values(r, t, named, x.limit);
    located found = by_values ? *by_values : locate(r, t, named, x.limit);
    if (found.is != located::answer::unknown)
      add_replicas(named == side::test ? test_.index : reference_.index,
                   named == side::test ? *x.test : *x.reference,
                   named == side::test ? *x.test_merged : *x.reference_merged, found);
    return found;
  };
  const side other = e.seen_in == side::test ? side::reference : side::test;
  const judged_run& own = e.seen_in == side::test ? test_ : reference_;
  if (own.index.run().ranks.size() > 1)
    e.culprits = ask(e.seen_in);
  else
    e.other_culprits = ask(other);
}

evidence comparer::evidence_of(const item& x, const op_pair& pair, side where, const std::vector<item>& all,
                               const local_result& local) const {
  const bool is_test = where == side::test;
  const judged_run& run = is_test ? test_ : reference_;
  std::vector<seen_capture> seen;
  seen_capture here;
  for (const item& other : all) {
    const logical_capture* c = is_test ? other.test : other.reference;
    if (c == nullptr) continue;
    const auto& own = is_test ? other.test_merged : other.reference_merged;
    const auto& partner = is_test ? other.reference_merged : other.test_merged;
    seen.push_back({c, &*own, partner ? &*partner : nullptr});
    if (&other == &x) here = seen.back();
  }
  const logical_capture& c = *here.capture;
  const std::int32_t at = position(run, &c);
  evidence e = evidence_alone(run, here, seen, local);
  e.seen_in = where;
  if (e.partner != nullptr) e.partner_type = e.partner->type;
  const auto missing = gaps_.find({at, where});
  if (missing != gaps_.end())
    e.gap = missing->second.gap;
  else if (x.counted)
    e.gap = gap::none;
  if (missing != gaps_.end() && missing->second.writer >= 0) {
    const merged_capture wrote = merge(
        run.index, run.index.captures()[static_cast<std::size_t>(missing->second.writer)], run.placements);
    if (const auto far = measure_values(run.index, wrote, run.placements, run.index, *e.own, run.placements))
      e.changed = far->apart;
  }
  if (is_test) {
    const auto source = sources_.find(at);
    if (source != sources_.end()) e.source = source->second;
  }
  if (x.counted) e.lost = is_test ? x.test_lost : x.reference_lost;
  if (x.counted) e.unmoved = is_test ? x.test_unmoved : x.reference_unmoved;
  if (e.unequal_replica >= 0 && e.partner != nullptr) {
    const judged_run& other = is_test ? reference_ : test_;
    value_reader whole(other.index, *e.partner, other.placements);
    e.adds_up =
        whole.readable() ? add_up_to(run.index, c, whole) : add_up_to(run.index, c, other.index, *e.partner);
  }
  if (!x.counted) {
    e.rescaled = rescaling::none;
    return e;
  }
  e.apart = x.apart;
  blame(e, x);
  e.other_overflow = saturates_otherwise(x, all);
  if (c.role == role::scalar && x.verdict == verdict::beyond) {
    e.scalar_differs = is_test;
    e.scalar = scalar_of(test_.index.capture_row_of(x.test->members.front()));
    e.partner_scalar = scalar_of(reference_.index.capture_row_of(x.reference->members.front()));
    e.scalar_rounded =
        rounds_to(e.scalar, e.partner_scalar,
                  test_.index.op_row_of(op_of(test_, pair.test).members.front())) ||
        rounds_to(e.partner_scalar, e.scalar,
                  reference_.index.op_row_of(op_of(reference_, pair.reference).members.front()));
    if (names_.text(c.name) == "factor") {
      e.scalar_factor = true;
      e.factor_upstream = run.applied_before(run.index.ops()[c.op], e.scalar / e.partner_scalar);
    }
  }
  if (is_test) e.noise_limit = x.noise_limit;
  if (is_test && c.written && (!e.replayed || x.other_meaning) && x.verdict == verdict::beyond &&
      x.noise_limit == 0)
    e.apart_limit = x.limit;
  if (is_test && c.role != role::scalar && !e.own->local && !e.partner->local && e.own->covered &&
      e.partner->covered && pair.fate == fate::matched) {
    e.structure = e.own->count != e.partner->count ||
                  (e.source != source_state::none && !regroups(e.own->shape, e.partner->shape));
  }
  return e;
}

}  // namespace numdiff::analysis

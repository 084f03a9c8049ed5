#include "analysis/bridge.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/expect/judge.hpp"
#include "analysis/expect/shapes.hpp"
#include "analysis/parts_program.hpp"

namespace numdiff::analysis {

namespace {

using expect::require;

bool read_outside(const half& h) {
  const std::set<std::int32_t> inside(h.ops.begin(), h.ops.end());
  const auto last = static_cast<std::int32_t>(h.run.captures().size());
  for (auto c = static_cast<std::int32_t>(h.op(h.ops.front()).first_capture); c < last; ++c) {
    const logical_capture& read = h.capture(c);
    if (read.written || read.role == role::scalar || inside.contains(static_cast<std::int32_t>(read.op)))
      continue;
    const std::int32_t w = h.writer(c);
    if (w >= 0 && inside.contains(static_cast<std::int32_t>(h.capture(w).op))) return true;
  }
  return false;
}

// Which capture of the parts a fused op wrote, and how it is laid out there.
struct target {
  std::int32_t parts = -1;
  arrangement how;
  bool certain = true;  // also where the result is wrong
};

// What partners read in each other's place is one tensor, and so is what has one name or is the only result
// of its size, where later ops read both: so that a wrong result is found. Else values tell; those inside
// the parts may be alike and not the same (a row's maximum and the log of its sum).
std::optional<target> target_of(const parts_program& parts, const half& h, const half& fused,
                                const operand& out, std::int32_t capture, std::int32_t read_in_its_place,
                                bool read_later) {
  std::optional<target> best;
  int alone = 0;
  std::optional<target> only;
  for (const auto& [at, result] : parts.results()) {
    std::optional<arrangement> how = arrange(result.values, result.shape, out.value.shape, out.value.values);
    if (!how) continue;
    if (at == read_in_its_place) return target{at, std::move(*how)};
    const bool same_name = read_later && at >= 0 && h.capture(at).name == fused.capture(capture).name;
    if (!parts.read_inside(at)) {
      ++alone;
      only = target{at, *how};
    }
    if (how->distance > same_tensor && !same_name) continue;
    if (!best || how->distance < best->how.distance)
      best = target{at, std::move(*how), same_name || !parts.read_inside(at)};
  }
  if (!best && alone == 1 && read_later) best = std::move(only);
  return best;
}

expect::expectation expected(const parts_program& p, const target& t) {
  const composed& c = p.results().at(t.parts);
  const std::size_t n = c.values.size();
  const auto width = std::max<std::size_t>(1, c.shape.empty() ? 1 : static_cast<std::size_t>(c.shape.back()));
  // Few noisy runs leave single elements by chance without error: their row says how much to expect.
  std::vector<double> variance(n);
  for (std::size_t row = 0; row * width < n; ++row) {
    const std::size_t first = row * width, end = std::min(n, first + width);
    double mean = 0;
    for (std::size_t i = first; i < end; ++i) mean += c.squares[i] / noisy_runs;
    mean /= static_cast<double>(end - first);
    for (std::size_t i = first; i < end; ++i)
      variance[i] = c.variance[i] + std::max(c.squares[i] / noisy_runs, mean / 4);
  }
  expect::expectation e;
  e.exact = t.how.apply(c.values);
  e.variance = t.how.apply(variance);
  if (!c.bound.empty()) e.bound = t.how.apply(c.bound);
  if (!c.defects.empty()) {
    e.defects = c.defects;
    for (std::size_t i = 0; i < t.how.source.size(); ++i) e.defects[i] = c.defects[t.how.source[i]];
  }
  e.grain = 4 * expect::grid_of(dtype::f32).smallest();
  // Roundings to few bits have the size that is expected of them, sums in any order may not.
  if (p.coarse().precision < 24) e.internal_limit = 3;
  e.rms_limit = e.internal_limit;
  for (const auto& [value, name] : p.factors(t.parts)) e.know_factor(name, value);
  return e;
}

// `twins`: what partners read, by what they read in its place.
void judge_rank(const half& parts, const half& fused, const std::map<std::int32_t, std::int32_t>& twins,
                bool read_later, std::int32_t world_rank, bridge& b) {
  parts_program p(parts, fused, world_rank);
  p.rehearse();
  std::set<std::int32_t> read_by_fused;
  std::map<std::int32_t, target> targets;
  for (std::size_t o = 0; o < p.fused_ops().size(); ++o) {
    const stored_op& one = p.fused_ops()[o];
    for (const std::int32_t r : one.reads) read_by_fused.insert(fused.writer(r));
    for (std::size_t w = 0; w < one.op.writes.size(); ++w) {
      const auto twin = twins.find(one.writes[w]);
      const std::optional<target> t = target_of(p, parts, fused, one.op.writes[w], one.writes[w],
                                                twin == twins.end() ? -1 : twin->second, read_later);
      if (!t) continue;
      require(twin != twins.end() || t->how.source.empty() || t->how.angle <= same_tensor,
              "a result of another layout");
      targets[one.writes[w]] = *t;
      p.begin_at(t->parts, o, w);
    }
  }
  require(!targets.empty(), "no result of the fused op is one of its parts'");
  p.run();
  bool wrong = false;
  for (std::size_t o = 0; o < p.fused_ops().size(); ++o) {
    const stored_op& one = p.fused_ops()[o];
    local_result& result = b.judged[fused.ops[o]];
    result.done = true;
    for (std::size_t w = 0; w < one.op.writes.size(); ++w) {
      const auto t = targets.find(one.writes[w]);
      if (t == targets.end() && !read_by_fused.contains(one.writes[w])) b.unjudged.push_back(one.writes[w]);
      if (t == targets.end() || wrong) continue;
      judgement j = expect::judge(one.op, w, expected(p, t->second));
      if (j.v == verdict::beyond && j.ratio <= j.limit && j.nonfinite_created + j.nonfinite_replayed == 0) {
        // Single elements: an op of a known kind may compute otherwise than the parts, from what it alone
        // reads. As a whole it must be what the parts are.
        replayed own = replay(one.op);
        if (own.done && w < own.outputs.size() && own.outputs[w].v == verdict::within)
          j = std::move(own.outputs[w]);
      }
      if (j.v == verdict::beyond && !t->second.certain) {
        if (!read_by_fused.contains(one.writes[w])) b.unjudged.push_back(one.writes[w]);
        continue;
      }
      // What reads a result that is far from the parts' is its echo.
      wrong = j.v == verdict::beyond && t->second.how.distance > same_tensor;
      take_judgement(result, one, std::move(j));
    }
  }
  if (b.shared.empty()) b.shared = p.shared();
}

}  // namespace

bridge judge_region(const run_index& reference, const chain& reference_flow, const run_index& test,
                    const chain& test_flow, const region& r) {
  bridge b;
  const half left{reference, reference_flow, r.reference}, right{test, test_flow, r.test};
  const bool left_parts = left.replayable() && (r.reference.size() >= r.test.size() || !right.replayable());
  b.test_fused = left_parts;
  const half &parts = left_parts ? left : right, &fused = left_parts ? right : left;
  try {
    require(parts.replayable(), "neither run has only parts that can be replayed");
    require(parts.ops.size() <= most_ops && fused.ops.size() <= most_ops, "too many ops without a partner");
    require(reference.run().world_size == test.run().world_size, "the runs have other ranks here");
    const bool read_later = read_outside(parts) && read_outside(fused);
    std::set<std::int32_t> ranks;
    for (const std::int32_t o : fused.ops) {
      for (const member& m : fused.op(o).members) ranks.insert(fused.run.rank_of(m).rank);
    }
    std::map<std::int32_t, std::int32_t> twins;
    for (const capture_pair& c : r.results)
      twins[left_parts ? c.test : c.reference] = left_parts ? c.reference : c.test;
    for (const std::int32_t rank : ranks) judge_rank(parts, fused, twins, read_later, rank, b);
    b.done = true;
  } catch (const std::exception& e) {
    b.judged.clear();
    b.shared.clear();
    b.unjudged.clear();
    b.why_not = e.what();
  }
  return b;
}

}  // namespace numdiff::analysis

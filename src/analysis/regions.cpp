#include "analysis/regions.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace numdiff::analysis {

namespace {

// Sets of ops; those of the test stand behind the `split` of the reference.
class sets {
 public:
  sets(std::size_t split, std::size_t n) : parent_(n), sides_(n) {
    std::iota(parent_.begin(), parent_.end(), 0U);
    for (std::size_t i = 0; i < n; ++i) sides_[i] = i < split ? 1 : 2;
  }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t first = std::min(find(a), find(b)), second = std::max(find(a), find(b));
    parent_[second] = first;
    sides_[first] = static_cast<std::uint8_t>(sides_[first] | sides_[second]);
  }
  bool one_sided(std::size_t i) { return sides_[find(i)] != 3; }

 private:
  std::vector<std::size_t> parent_;
  std::vector<std::uint8_t> sides_;
};

// The capture that wrote what a capture reads, directly or through ops that only pass it on; -1 none.
std::int32_t writer_of(const run_index& run, const chain& flow, const std::vector<bool>& passes,
                       std::int32_t capture) {
  for (int hops = 0; hops < 16; ++hops) {
    const link& from = flow.of(capture).from;
    if (from.from < 0 || from.origin == origin::none) return -1;
    const logical_capture& source = run.captures()[static_cast<std::size_t>(from.from)];
    if (from.origin == origin::read) {
      capture = from.from;
      continue;
    }
    if (!passes[source.op]) return from.from;
    std::int32_t behind = -1;
    const logical_op& op = run.ops()[source.op];
    for (std::uint32_t i = 0; i < op.captures && behind < 0; ++i) {
      const logical_capture& c = run.captures()[op.first_capture + i];
      if (!c.written && c.role != role::scalar && c.role != role::scale)
        behind = static_cast<std::int32_t>(op.first_capture + i);
    }
    if (behind < 0) return from.from;
    capture = behind;
  }
  return -1;
}

struct side_of {
  const run_index& run;
  const chain& flow;
  std::vector<bool> alone, passes;  // by op: has no partner; is auxiliary and has none

  side_of(const run_index& r, const chain& f)
      : run(r), flow(f), alone(r.ops().size()), passes(r.ops().size()) {}
  // Written by an op without a partner; -1: not so.
  [[nodiscard]] std::int32_t lone_writer(std::int32_t capture) const {
    const std::int32_t w = writer_of(run, flow, passes, capture);
    return w >= 0 && alone[op_of(w)] ? w : -1;
  }
  [[nodiscard]] std::size_t op_of(std::int32_t capture) const {
    return run.captures()[static_cast<std::size_t>(capture)].op;
  }
};

}  // namespace

std::vector<region> find_regions(const run_index& reference, const chain& reference_flow,
                                 const run_index& test, const chain& test_flow,
                                 const std::vector<op_pair>& pairs) {
  side_of left(reference, reference_flow), right(test, test_flow);
  for (const op_pair& p : pairs) {
    side_of& s = p.test >= 0 ? right : left;
    const auto at = static_cast<std::size_t>(std::max(p.test, p.reference));
    if (p.fate == fate::matched || !p.selected || s.run.ops()[at].outside) continue;
    if (p.fate == fate::auxiliary)
      s.passes[at] = !is_collective(s.run.kind_of(s.run.ops()[at]));
    else
      s.alone[at] = true;
  }
  if (std::ranges::count(left.alone, true) == 0 || std::ranges::count(right.alone, true) == 0) return {};

  const std::size_t split = left.alone.size();
  sets all(split, split + right.alone.size());
  for (const side_of* s : {&left, &right}) {
    const std::size_t base = s == &left ? 0 : split;
    for (std::size_t c = 0; c < s->run.captures().size(); ++c) {
      const logical_capture& capture = s->run.captures()[c];
      if (capture.written || capture.role == role::scalar || !s->alone[capture.op]) continue;
      const std::int32_t w = s->lone_writer(static_cast<std::int32_t>(c));
      if (w >= 0) all.join(base + capture.op, base + s->op_of(w));
    }
  }
  // Partners read what a region wrote.
  std::vector<capture_pair> results;
  for (const op_pair& p : pairs) {
    if (p.fate != fate::matched) continue;
    for (const capture_pair& c : align_captures(reference, test, p)) {
      if (c.reference < 0 || c.test < 0) continue;
      const logical_capture& read = test.captures()[static_cast<std::size_t>(c.test)];
      if (read.written || read.role == role::scalar) continue;
      const std::int32_t r = left.lone_writer(c.reference), t = right.lone_writer(c.test);
      if (r < 0 || t < 0) continue;
      all.join(left.op_of(r), split + right.op_of(t));
      results.push_back({r, t});
    }
  }
  // What nobody reads afterwards belongs to what stands beside it without a partner.
  std::vector<std::size_t> stretch;
  const auto close = [&] {
    std::vector<std::size_t> lonely;
    std::ranges::copy_if(stretch, std::back_inserter(lonely),
                         [&](std::size_t i) { return all.one_sided(i); });
    const bool both = std::ranges::any_of(lonely, [&](std::size_t i) { return i < split; }) &&
                      std::ranges::any_of(lonely, [&](std::size_t i) { return i >= split; });
    for (std::size_t i = 1; both && i < lonely.size(); ++i) all.join(lonely[0], lonely[i]);
    stretch.clear();
  };
  const auto context = [&](std::size_t id) {
    const logical_op& op = id < split ? reference.ops()[id] : test.ops()[id - split];
    return std::tuple(op.step, op.micro_batch, op.phase);
  };
  for (const op_pair& p : pairs) {
    const auto at = static_cast<std::size_t>(std::max(p.test, p.reference));
    const std::size_t id = p.test >= 0 ? split + at : at;
    if (p.fate == fate::matched) close();
    if (p.fate == fate::matched || !(p.test >= 0 ? right : left).alone[at]) continue;
    if (!stretch.empty() && context(stretch.back()) != context(id)) close();
    stretch.push_back(id);
  }
  close();

  std::map<std::size_t, region> by_set;
  for (std::size_t i = 0; i < split + right.alone.size(); ++i) {
    if (i < split ? left.alone[i] : right.alone[i - split]) {
      region& r = by_set[all.find(i)];
      (i < split ? r.reference : r.test).push_back(static_cast<std::int32_t>(i < split ? i : i - split));
    }
  }
  for (const capture_pair& c : results) by_set[all.find(left.op_of(c.reference))].results.push_back(c);
  std::vector<region> regions;
  for (auto& [set, r] : by_set) {
    if (!r.reference.empty() && !r.test.empty()) regions.push_back(std::move(r));
  }
  return regions;
}

}  // namespace numdiff::analysis

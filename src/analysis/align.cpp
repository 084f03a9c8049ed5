#include "analysis/align.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace numdiff::analysis {

namespace {

constexpr std::string_view auxiliary_kinds[] = {"cast", "copy", "scale", "amax"};
constexpr std::string_view collective_kinds[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                                 "reduce",     "all_to_all",     "send",       "receive"};

// A place of the program without the call number.
struct call_site {
  bool by_update = false;
  std::int64_t time = 0;
  std::int32_t micro_batch = -1;
  numdiff::phase phase = numdiff::phase::none;
  std::uint32_t scope = 0, name = 0;
  bool outside = false;
  std::uint32_t tensor = 0;
  auto operator<=>(const call_site&) const = default;
};

struct calls {
  std::vector<std::uint32_t> reference, test;
};

call_site site_of(const run_index& run, const logical_op& op, bool by_update) {
  call_site site;
  site.by_update = by_update && op.phase == phase::optimizer && op.update >= 0;
  site.time = site.by_update ? op.update : op.step;
  site.micro_batch = op.micro_batch;
  site.phase = op.phase;
  site.scope = op.scope;
  site.name = op.name;
  site.outside = op.outside;
  if (op.outside) site.tensor = run.captures_of(op).front().name;
  return site;
}

// How well two calls fit; negative: not at all.
double likeness(const run_index& reference, const run_index& test, std::uint32_t r, std::uint32_t t) {
  const logical_op& a = reference.ops()[r];
  const logical_op& b = test.ops()[t];
  if (a.kind != b.kind) return -1;
  double score = 1;
  for (const logical_capture& x : reference.captures_of(a)) {
    for (const logical_capture& y : test.captures_of(b)) {
      if (x.role != y.role || x.name != y.name || x.usage != y.usage || x.ordinal != y.ordinal) continue;
      const model::capture_row& p = reference.capture_row_of(x.members.front());
      const model::capture_row& q = test.capture_row_of(y.members.front());
      if (p.count == q.count) score += 2;
      if (p.dtype == q.dtype) score += 1;
      if (p.digest0 == q.digest0 && p.digest1 == q.digest1) score += 8;
    }
  }
  return score;
}

// Pairs that stand in every best alignment of the two sequences of calls.
std::vector<std::pair<std::uint32_t, std::uint32_t>> align_calls(const run_index& reference,
                                                                 const run_index& test, const calls& group) {
  const std::size_t n = group.reference.size(), m = group.test.size();
  struct cell {
    double score = 0, ways = 1;
  };
  const auto better = [](cell& best, double score, double ways) {
    if (score > best.score)
      best = {score, ways};
    else if (score == best.score)
      best.ways += ways;
  };
  std::vector<double> fit(n * m);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      fit[i * m + j] = likeness(reference, test, group.reference[i], group.test[j]);
    }
  }
  // Gaps are taken in one canonical order (reference first), so that an alignment is counted once.
  // `head` ends at (i, j), `tail` begins there; a state says whether the last step skipped a test call.
  const auto run = [&](bool backward) {
    std::vector<cell> open((n + 1) * (m + 1), {-1, 0}), closed((n + 1) * (m + 1), {-1, 0});
    open[0] = {0, 1};
    for (std::size_t i = 0; i <= n; ++i) {
      for (std::size_t j = 0; j <= m; ++j) {
        cell& o = open[i * (m + 1) + j];
        cell& c = closed[i * (m + 1) + j];
        if (i > 0 && j > 0) {
          const std::size_t a = backward ? n - i : i - 1, b = backward ? m - j : j - 1;
          const double f = fit[a * m + b];
          const cell& od = open[(i - 1) * (m + 1) + j - 1];
          const cell& cd = closed[(i - 1) * (m + 1) + j - 1];
          if (f >= 0 && od.score >= 0) better(o, od.score + f, od.ways);
          if (f >= 0 && cd.score >= 0) better(o, cd.score + f, cd.ways);
        }
        if (i > 0 && open[(i - 1) * (m + 1) + j].score >= 0) {
          const cell& up = open[(i - 1) * (m + 1) + j];
          better(o, up.score, up.ways);
        }
        if (j > 0) {
          const cell& ol = open[i * (m + 1) + j - 1];
          const cell& cl = closed[i * (m + 1) + j - 1];
          if (ol.score >= 0) better(c, ol.score, ol.ways);
          if (cl.score >= 0) better(c, cl.score, cl.ways);
        }
      }
    }
    std::vector<cell> all(open.size(), {-1, 0});
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (open[k].score >= 0) better(all[k], open[k].score, open[k].ways);
      if (closed[k].score >= 0) better(all[k], closed[k].score, closed[k].ways);
    }
    return all;
  };
  const std::vector<cell> head = run(false), tail = run(true);
  const cell total = head.back();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      const cell& h = head[i * (m + 1) + j];
      const cell& t = tail[(n - 1 - i) * (m + 1) + (m - 1 - j)];
      const double f = fit[i * m + j];
      if (f < 0 || h.score < 0 || t.score < 0 || h.score + f + t.score != total.score) continue;
      if (h.ways * t.ways == total.ways) pairs.emplace_back(group.reference[i], group.test[j]);
    }
  }
  return pairs;
}

fate fate_alone(const run_index& run, const run_index& other, const logical_op& op) {
  if (op.outside) return fate::only_there;
  if (is_auxiliary(run.kind_of(op), op.phase)) return fate::auxiliary;
  if (op.phase == phase::optimizer) {
    // A skipped step has no update to compare; the run that did not skip makes more of them.
    if (run.skipped(op.step)) return fate::auxiliary;
    if (other.skips() && !other.ops().empty()) {
      std::int64_t last = -1;
      for (const logical_op& o : other.ops()) last = std::max(last, o.update);
      if (op.update >= last) return fate::auxiliary;
    }
  }
  return fate::only_there;
}

}  // namespace

bool is_collective(std::string_view kind) noexcept {
  return std::ranges::find(collective_kinds, kind) != std::end(collective_kinds);
}

bool is_auxiliary(std::string_view kind, phase p) noexcept {
  return p == phase::recompute || is_collective(kind) ||
         std::ranges::find(auxiliary_kinds, kind) != std::end(auxiliary_kinds);
}

std::vector<op_pair> align(const run_index& reference, const run_index& test) {
  const bool by_update = reference.skips() || test.skips();
  std::map<call_site, calls> sites;
  for (std::uint32_t i = 0; i < reference.ops().size(); ++i) {
    const logical_op& op = reference.ops()[i];
    if (by_update && op.phase == phase::optimizer && reference.skipped(op.step)) continue;
    sites[site_of(reference, op, by_update)].reference.push_back(i);
  }
  for (std::uint32_t i = 0; i < test.ops().size(); ++i) {
    const logical_op& op = test.ops()[i];
    if (by_update && op.phase == phase::optimizer && test.skipped(op.step)) continue;
    sites[site_of(test, op, by_update)].test.push_back(i);
  }

  std::vector<std::int32_t> partner_of_reference(reference.ops().size(), -1);
  std::vector<std::int32_t> partner_of_test(test.ops().size(), -1);
  std::vector<bool> doubtful_reference(reference.ops().size()), doubtful_test(test.ops().size());
  const auto join = [&](std::uint32_t r, std::uint32_t t) {
    partner_of_reference[r] = static_cast<std::int32_t>(t);
    partner_of_test[t] = static_cast<std::int32_t>(r);
  };
  for (const auto& entry : sites) {
    const calls& group = entry.second;
    const auto same_kind = [&](std::size_t i) {
      return reference.ops()[group.reference[i]].kind == test.ops()[group.test[i]].kind;
    };
    bool by_index = group.reference.size() == group.test.size();
    for (std::size_t i = 0; by_index && i < group.reference.size(); ++i) by_index = same_kind(i);
    if (by_index) {
      for (std::size_t i = 0; i < group.reference.size(); ++i) join(group.reference[i], group.test[i]);
    } else if (!group.reference.empty() && !group.test.empty()) {
      const auto pairs = align_calls(reference, test, group);
      for (const auto& [r, t] : pairs) join(r, t);
      if (pairs.size() < std::min(group.reference.size(), group.test.size())) {
        for (const std::uint32_t r : group.reference) doubtful_reference[r] = partner_of_reference[r] < 0;
        for (const std::uint32_t t : group.test) doubtful_test[t] = partner_of_test[t] < 0;
      }
    }
  }

  // Reference ops alone, by the test op that stands before them (-1: the beginning).
  std::unordered_map<std::int32_t, std::vector<std::int32_t>> alone_behind;
  std::int32_t behind = -1;
  for (std::size_t r = 0; r < partner_of_reference.size(); ++r) {
    if (partner_of_reference[r] >= 0)
      behind = partner_of_reference[r];
    else
      alone_behind[behind].push_back(static_cast<std::int32_t>(r));
  }
  std::vector<op_pair> order;
  const auto emit_alone = [&](std::int32_t test_op) {
    const auto found = alone_behind.find(test_op);
    if (found == alone_behind.end()) return;
    for (const std::int32_t r : found->second) {
      const logical_op& op = reference.ops()[static_cast<std::size_t>(r)];
      fate f = fate_alone(reference, test, op);
      if (f == fate::only_there && doubtful_reference[static_cast<std::size_t>(r)]) f = fate::ambiguous;
      order.push_back({r, -1, f, op.selected});
    }
  };
  emit_alone(-1);
  for (std::size_t t = 0; t < partner_of_test.size(); ++t) {
    const logical_op& op = test.ops()[t];
    const std::int32_t r = partner_of_test[t];
    if (r >= 0) {
      order.push_back({r, static_cast<std::int32_t>(t), fate::matched,
                       op.selected || reference.ops()[static_cast<std::size_t>(r)].selected});
    } else {
      fate f = fate_alone(test, reference, op);
      if (f == fate::only_there && doubtful_test[t]) f = fate::ambiguous;
      order.push_back({-1, static_cast<std::int32_t>(t), f, op.selected});
    }
    emit_alone(static_cast<std::int32_t>(t));
  }
  return order;
}

std::vector<capture_pair> align_captures(const run_index& reference, const run_index& test,
                                         const op_pair& pair) {
  std::vector<capture_pair> pairs;
  if (pair.reference < 0 || pair.test < 0) {
    const run_index& run = pair.test >= 0 ? test : reference;
    const logical_op& op = run.ops()[static_cast<std::size_t>(pair.test >= 0 ? pair.test : pair.reference)];
    for (std::uint32_t i = 0; i < op.captures; ++i) {
      const auto at = static_cast<std::int32_t>(op.first_capture + i);
      pairs.push_back(pair.test >= 0 ? capture_pair{-1, at} : capture_pair{at, -1});
    }
    return pairs;
  }
  const logical_op& a = reference.ops()[static_cast<std::size_t>(pair.reference)];
  const logical_op& b = test.ops()[static_cast<std::size_t>(pair.test)];
  const auto left = reference.captures_of(a);
  const auto right = test.captures_of(b);
  std::vector<std::int32_t> partner(left.size(), -1);
  std::vector<bool> taken(right.size());
  const auto try_join = [&](auto&& fits) {
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (partner[i] >= 0) continue;
      for (std::size_t j = 0; j < right.size(); ++j) {
        if (taken[j] || left[i].role != right[j].role || left[i].written != right[j].written) continue;
        if (!fits(left[i], right[j])) continue;
        partner[i] = static_cast<std::int32_t>(j);
        taken[j] = true;
        break;
      }
    }
  };
  try_join([](const logical_capture& x, const logical_capture& y) {
    return x.name == y.name && x.usage == y.usage && x.ordinal == y.ordinal;
  });
  // A recipe without blocks makes no difference between the usages of a tensor.
  const auto usages_fit = [](const logical_capture& x, const logical_capture& y) {
    return x.usage == y.usage || x.usage == usage::none || y.usage == usage::none;
  };
  try_join([&](const logical_capture& x, const logical_capture& y) {
    return x.name == y.name && usages_fit(x, y) && x.ordinal == y.ordinal;
  });
  try_join([&](const logical_capture& x, const logical_capture& y) {
    return x.role != role::scalar && usages_fit(x, y) && x.members.size() == y.members.size() &&
           reference.capture_row_of(x.members.front()).count == test.capture_row_of(y.members.front()).count;
  });
  for (std::size_t i = 0; i < left.size(); ++i) {
    pairs.push_back({static_cast<std::int32_t>(a.first_capture + i),
                     partner[i] < 0 ? -1 : static_cast<std::int32_t>(b.first_capture) + partner[i]});
  }
  for (std::size_t j = 0; j < right.size(); ++j) {
    if (!taken[j]) pairs.push_back({-1, static_cast<std::int32_t>(b.first_capture + j)});
  }
  return pairs;
}

}  // namespace numdiff::analysis

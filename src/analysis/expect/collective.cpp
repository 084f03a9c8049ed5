// Collectives: every rank's output from the inputs of all ranks, in the wire format of every hop.
#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>

#include "analysis/expect/collective.hpp"
#include "analysis/expect/judge.hpp"
#include "analysis/expect/kinds.hpp"
#include "analysis/expect/moves.hpp"

namespace numdiff::analysis {
namespace expect {
namespace {

double square(double x) {
  return x * x;
}

group_call group_of(const model::collective_row& c, std::span<const op_instance> group) {
  require(!group.empty() && (c.size == 0 || c.size == group.size()), "not every rank of the group is there");
  const op_instance* brings = nullptr;
  for (const op_instance& op : group) {
    require(op.row != nullptr, "no op record");
    if (brings == nullptr && !op.reads.empty()) brings = &op;
  }
  require(brings != nullptr, "an input is not stored");
  group_call g{group,
               static_cast<collective_operation>(c.operation),
               static_cast<numdiff::reduction>(c.reduction),
               {},
               c.peer};
  const auto wire = static_cast<dtype>(c.wire_dtype);
  g.wire = grid_of(wire != dtype::unknown ? wire : brings->reads.front().value.type);
  if (g.operation == collective_operation::unknown) {
    const std::string_view kind = group[0].kind;
    g.operation = kind == "all_reduce"       ? collective_operation::all_reduce
                  : kind == "reduce_scatter" ? collective_operation::reduce_scatter
                  : kind == "all_gather"     ? collective_operation::all_gather
                  : kind == "broadcast"      ? collective_operation::broadcast
                  : kind == "reduce"         ? collective_operation::reduce
                  : kind == "all_to_all"     ? collective_operation::all_to_all
                  : kind == "send"           ? collective_operation::send
                  : kind == "receive"        ? collective_operation::receive
                                             : collective_operation::unknown;
  }
  return g;
}

double rounding_of(const grid& g, double x) {
  return x == 0 || g.holds(x) ? 0 : square(g.ulp(x)) / 12;
}

// What every rank's output is; of a reduce-scatter element i is element at[r][i] of the sum.
std::vector<expectation> expected_of(const group_call& g, std::vector<std::vector<std::size_t>>& at) {
  const std::size_t n = g.ranks.size();
  for (std::size_t r = 0; r < n; ++r) {
    const op_instance& op = g.ranks[r];
    require(!op.reads.empty() && (!op.writes.empty() || !g.gets(r)), "an input or output is not stored");
  }
  at.assign(n, {});
  if (g.operation == collective_operation::broadcast) {
    require(g.root >= 0 && g.root < static_cast<std::ptrdiff_t>(n), "the root is not told");
    expectation e;
    e.exact = g.in(static_cast<std::size_t>(g.root)).values;
    e.variance.assign(e.exact.size(), 0);
    e.copies = true;
    return std::vector<expectation>(n, e);
  }
  const expectation whole = reduced(g, g.wire);
  std::vector<expectation> all(n);
  for (std::size_t r = 0; r < n; ++r) {
    if (g.operation == collective_operation::reduce_scatter) {
      at[r] = scattered_to(g, r);
      all[r] = part_of(whole, at[r]);
    } else {
      at[r].resize(whole.exact.size());
      std::iota(at[r].begin(), at[r].end(), std::size_t{0});
      all[r] = whole;
    }
  }
  return all;
}

bool moves(collective_operation o) {
  return o == collective_operation::all_gather || o == collective_operation::all_to_all ||
         o == collective_operation::send || o == collective_operation::receive;
}

// Ranks that must hold the same do.
void check_replicas(const group_call& g, std::vector<judgement>& answers) {
  for (judgement& j : answers) {
    if (j.rank == 0 || g.out(j.rank).codes == g.out(0).codes) continue;
    j.evidence.emplace_back("differs_from_first_rank", 1);
    if (j.v != verdict::within) continue;
    j.v = verdict::beyond;
    j.cause_hint = "replica-divergence";
    j.reason = "the ranks hold different results";
  }
}

// Every output of a reduction or broadcast from the inputs of all ranks.
std::vector<judgement> judge_sums(const group_call& g) {
  std::vector<std::vector<std::size_t>> at;
  std::vector<expectation> all = expected_of(g, at);
  const bool reduces = g.operation != collective_operation::broadcast;
  std::vector<judgement> answers;
  for (std::size_t r = 0; r < g.ranks.size(); ++r) {
    if (!g.gets(r)) {
      answers.emplace_back().rank = r;
      continue;
    }
    require(g.out(r).values.size() == all[r].exact.size(), "an output of another size than its inputs imply");
    if (reduces)
      offer_faults(g, r, at[r], all[r]);
    else
      offer_kept(g, r, all[r]);
    judgement j = judge(g.ranks[r], 0, all[r]);
    j.rank = r;
    if (reduces && j.v == verdict::beyond && j.cause_hint == "op-overflow" && g.wire.precision < 24) {
      j.cause_hint = "low-precision-communication";
      j.reason = "a partial sum leaves the range of the wire";
    }
    if (reduces && j.v == verdict::beyond) try_lost_shares(g, r, at[r], all[r], j);
    if (reduces && j.v == verdict::beyond) try_narrower_wire(g, r, at[r], all[r], j);
    if (reduces && j.v == verdict::within && g.wire.precision < grid_of(g.out(r).type).precision) {
      j.evidence.emplace_back("wire_precision", g.wire.precision);
    }
    answers.push_back(std::move(j));
  }
  return answers;
}

}  // namespace

// The reduction of all inputs in a wire format. Inputs are rounded to it, partial sums at every hop; the
// order of the hops is not known, so each of the n - 1 hops counts with the largest partial sum seen.
expectation reduced(const group_call& g, const grid& wire) {
  const std::size_t n = g.ranks.size(), count = g.in(0).values.size();
  for (std::size_t r = 0; r < n; ++r)
    require(g.in(r).values.size() == count, "ranks contribute different counts");
  const double ranks = static_cast<double>(n);
  const bool average = g.reduction == numdiff::reduction::average, weighted = g.weighted();
  const bool sums =
      average || g.reduction == numdiff::reduction::sum || g.reduction == numdiff::reduction::none;
  expectation e;
  e.resize(count, true);
  for (std::size_t i = 0; i < count; ++i) {
    long double total = 0;
    double top = 0, variance = 0;
    for (std::size_t r = 0; r < n; ++r) {
      const double x = g.in(r).values[i];
      if (!sums) {
        const bool first = r == 0;
        const double best = static_cast<double>(total);
        const bool takes = g.reduction == numdiff::reduction::max ? x > best : x < best;
        if (first || takes || std::isnan(x)) total = static_cast<long double>(x);
        continue;
      }
      total += static_cast<long double>(x);
      top = std::max({top, std::fabs(x), std::fabs(static_cast<double>(total))});
      variance += rounding_of(wire, x);
      if (average) variance += square(wire.ulp(x)) / 12;  // divided before the sum
    }
    if (!sums) {
      e.set(i, total, rounding_of(wire, static_cast<double>(total)));
      continue;
    }
    if (n > 1 && top > 0) variance += (ranks - 1) * square(wire.ulp(top)) / 12;
    if (average) {
      total /= static_cast<long double>(n);
      if (weighted) {
        long double weights = 0;
        total = 0;
        for (std::size_t r = 0; r < n; ++r) {
          weights += static_cast<long double>(g.weight(r));
          total += static_cast<long double>(g.weight(r)) * static_cast<long double>(g.in(r).values[i]);
        }
        total /= weights;
        variance *= square(ranks);  // one rank may carry all of the weight
      }
      variance = variance / square(ranks) + square(wire.ulp(static_cast<double>(total))) / 12;
      // 1/n in the wire format is one common factor.
      const double off = std::fabs(wire.round(1 / ranks) * ranks - 1);
      if (off > 0) e.allow(i, off * std::fabs(static_cast<double>(total)) * 1.01);
    }
    if (top > wire.maximum) e.mark(i, defect::inner_overflow);
    e.set(i, total, std::isfinite(variance) ? variance : 0);
  }
  e.internal_limit = e.rms_limit = 3;
  return e;
}

expectation part_of(const expectation& whole, const std::vector<std::size_t>& elements) {
  const auto cut = [&](const auto& from) {
    std::decay_t<decltype(from)> part;
    if (from.empty()) return part;
    for (const std::size_t i : elements) part.push_back(from[i]);
    return part;
  };
  expectation e;
  e.exact = cut(whole.exact);
  e.low = cut(whole.low);
  e.variance = cut(whole.variance);
  e.bound = cut(whole.bound);
  e.defects = cut(whole.defects);
  e.internal_limit = whole.internal_limit;
  e.rms_limit = whole.rms_limit;
  return e;
}

}  // namespace expect

replayed replay_collective(const model::collective_row& c, std::span<const op_instance> group) {
  replayed result;
  try {
    using namespace expect;
    const group_call g = group_of(c, group);
    require(g.operation != collective_operation::unknown, "a collective without a replay");
    result.outputs = moves(g.operation) ? judge_moves(g) : judge_sums(g);
    if (g.operation == collective_operation::all_reduce || g.operation == collective_operation::all_gather)
      check_replicas(g, result.outputs);
    result.done = true;
  } catch (const std::exception& e) {
    result.outputs.clear();
    result.why_not = e.what();
  }
  return result;
}

}  // namespace numdiff::analysis

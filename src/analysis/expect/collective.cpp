// Collectives: every rank's output from the inputs of all ranks, in the wire format of every hop.
#include <algorithm>
#include <cmath>
#include <exception>

#include "analysis/expect/collective.hpp"
#include "analysis/expect/judge.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis {
namespace expect {
namespace {

double square(double x) {
  return x * x;
}

group_call group_of(const model::collective_row& c, std::span<const op_instance> group) {
  require(!group.empty() && (c.size == 0 || c.size == group.size()), "not every rank of the group is there");
  for (const op_instance& op : group) {
    require(op.row != nullptr && !op.reads.empty() && !op.writes.empty(), "an input or output is not stored");
  }
  group_call g{group,
               static_cast<collective_operation>(c.operation),
               static_cast<numdiff::reduction>(c.reduction),
               {},
               c.peer};
  const auto wire = static_cast<dtype>(c.wire_dtype);
  g.wire = grid_of(wire != dtype::unknown ? wire : g.in(0).type);
  if (g.operation == collective_operation::unknown) {
    const std::string_view kind = group[0].kind;
    g.operation = kind == "all_reduce"       ? collective_operation::all_reduce
                  : kind == "reduce_scatter" ? collective_operation::reduce_scatter
                  : kind == "all_gather"     ? collective_operation::all_gather
                  : kind == "broadcast"      ? collective_operation::broadcast
                  : kind == "reduce"         ? collective_operation::reduce
                                             : collective_operation::unknown;
  }
  return g;
}

double rounding_of(const grid& g, double x) {
  return x == 0 || g.holds(x) ? 0 : square(g.ulp(x)) / 12;
}

expectation moved(std::vector<double> values, bool copies) {
  expectation e;
  e.resize(values.size(), false);
  e.exact = std::move(values);
  e.copies = copies;
  return e;
}

std::vector<double> gathered(const group_call& g) {
  const pieces at = pieces_of(g);
  std::vector<double> values(at.ranks * at.outer * at.inner);
  for (std::size_t r = 0; r < at.ranks; ++r) at.put(values, r, g.in(r).values);
  return values;
}

std::vector<expectation> expected_of(const group_call& g, std::vector<std::size_t>& first) {
  const std::size_t n = g.ranks.size();
  std::vector<expectation> all(n);
  first.assign(n, 0);
  switch (g.operation) {
    case collective_operation::all_reduce:
    case collective_operation::reduce: {
      const expectation whole = reduced(g, g.wire);
      for (expectation& e : all) e = whole;
      break;
    }
    case collective_operation::reduce_scatter: {
      const expectation whole = reduced(g, g.wire);
      require(whole.exact.size() % n == 0, "the input does not split over the ranks");
      const std::size_t part = whole.exact.size() / n;
      for (std::size_t r = 0; r < n; ++r) all[r] = part_of(whole, first[r] = r * part, part);
      break;
    }
    case collective_operation::all_gather: {
      const std::vector<double> values = gathered(g);
      for (expectation& e : all) e = moved(values, g.out(0).type == g.in(0).type);
      break;
    }
    case collective_operation::broadcast: {
      require(g.root >= 0 && g.root < static_cast<std::ptrdiff_t>(n), "the root is not told");
      for (expectation& e : all) e = moved(g.in(static_cast<std::size_t>(g.root)).values, true);
      break;
    }
    default: throw cannot_replay("a collective without a replay");
  }
  return all;
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

expectation part_of(const expectation& whole, std::size_t first, std::size_t count) {
  const auto cut = [&](const auto& from) {
    using values = std::decay_t<decltype(from)>;
    return from.empty() ? values{}
                        : values(from.begin() + static_cast<std::ptrdiff_t>(first),
                                 from.begin() + static_cast<std::ptrdiff_t>(first + count));
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

pieces pieces_of(const group_call& g) {
  const auto &in = g.in(0).shape, &out = g.out(0).shape;
  std::size_t dim = 0;
  while (dim + 1 < in.size() && dim < out.size() && in[dim] == out[dim]) ++dim;
  pieces p;
  p.ranks = g.ranks.size();
  for (std::size_t d = 0; d < dim; ++d) p.outer *= static_cast<std::size_t>(in[d]);
  for (std::size_t d = dim; d < in.size(); ++d) p.inner *= static_cast<std::size_t>(in[d]);
  for (std::size_t r = 0; r < p.ranks; ++r)
    require(g.in(r).values.size() == p.outer * p.inner, "ranks contribute different counts");
  return p;
}

}  // namespace expect

replayed replay_collective(const model::collective_row& c, std::span<const op_instance> group) {
  replayed result;
  try {
    using namespace expect;
    const group_call g = group_of(c, group);
    std::vector<std::size_t> first;
    std::vector<expectation> all = expected_of(g, first);
    const bool reduces = g.operation == collective_operation::all_reduce ||
                         g.operation == collective_operation::reduce ||
                         g.operation == collective_operation::reduce_scatter;
    for (std::size_t r = 0; r < group.size(); ++r) {
      if (g.operation == collective_operation::reduce && g.root >= 0 &&
          static_cast<std::size_t>(g.root) != r) {
        result.outputs.emplace_back();
        continue;
      }
      require(g.out(r).values.size() == all[r].exact.size(),
              "an output of another size than its inputs imply");
      if (reduces)
        offer_faults(g, r, first[r], all[r]);
      else
        offer_misplaced(g, r, all[r]);
      judgement j = judge(group[r], 0, all[r]);
      if (reduces && j.v == verdict::beyond && j.cause_hint == "op-overflow" && g.wire.precision < 24) {
        j.cause_hint = "low-precision-communication";
        j.reason = "a partial sum leaves the range of the wire";
      }
      if (reduces && j.v == verdict::beyond) try_lost_shares(g, r, first[r], all[r], j);
      if (reduces && j.v == verdict::beyond) try_narrower_wire(g, r, first[r], all[r], j);
      if (reduces && j.v == verdict::within && g.wire.precision < grid_of(g.out(r).type).precision) {
        j.evidence.emplace_back("wire_precision", g.wire.precision);
      }
      const bool replica =
          g.operation == collective_operation::all_reduce || g.operation == collective_operation::all_gather;
      if (replica && r > 0 && g.out(r).codes != g.out(0).codes) {
        j.evidence.emplace_back("differs_from_first_rank", 1);
        if (j.v == verdict::within) {
          j.v = verdict::beyond;
          j.cause_hint = "replica-divergence";
          j.reason = "the ranks hold different results";
        }
      }
      result.outputs.push_back(std::move(j));
    }
    result.done = true;
  } catch (const std::exception& e) {
    result.outputs.clear();
    result.why_not = e.what();
  }
  return result;
}

}  // namespace numdiff::analysis

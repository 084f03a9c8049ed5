// Collectives: every rank's output from the inputs of all ranks, in the wire format of every hop.
#include <algorithm>
#include <cmath>
#include <exception>

#include "analysis/expect/judge.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis {
namespace expect {
namespace {

double square(double x) {
  return x * x;
}

struct group_call {
  std::span<const op_instance> ranks;
  collective_operation operation;
  numdiff::reduction reduction;
  grid wire;
  std::ptrdiff_t root;

  [[nodiscard]] const tensor& in(std::size_t r) const { return ranks[r].reads.front().value; }
  [[nodiscard]] const tensor& out(std::size_t r) const { return ranks[r].writes.front().value; }
  // Of an average whose ranks bring a number of their own beside the data (elements, tokens).
  [[nodiscard]] bool weighted() const {
    return reduction == numdiff::reduction::average && std::ranges::all_of(ranks, [](const op_instance& op) {
             return op.reads.size() == 2 && op.reads[1].value.values.size() == 1 &&
                    op.reads[1].value.values[0] >= 0;
           });
  }
  [[nodiscard]] double weight(std::size_t r) const { return ranks[r].reads[1].value.values[0]; }
};

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
                                             : collective_operation::unknown;
  }
  return g;
}

double rounding_of(const grid& g, double x) {
  return x == 0 || g.holds(x) ? 0 : square(g.ulp(x)) / 12;
}

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
  e.internal_limit = 3;
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
  return e;
}

expectation moved(std::vector<double> values, bool copies) {
  expectation e;
  e.resize(values.size(), false);
  e.exact = std::move(values);
  e.copies = copies;
  return e;
}

// The inputs of all ranks one behind the other along the dimension that grew.
std::vector<double> gathered(const group_call& g) {
  const auto &in = g.in(0).shape, &out = g.out(0).shape;
  std::size_t dim = 0;
  while (dim + 1 < in.size() && dim < out.size() && in[dim] == out[dim]) ++dim;
  std::size_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < dim; ++d) outer *= static_cast<std::size_t>(in[d]);
  for (std::size_t d = dim; d < in.size(); ++d) inner *= static_cast<std::size_t>(in[d]);
  std::vector<double> values;
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t r = 0; r < g.ranks.size(); ++r) {
      const auto& x = g.in(r).values;
      require(x.size() == outer * inner, "ranks contribute different counts");
      values.insert(values.end(), x.begin() + static_cast<std::ptrdiff_t>(o * inner),
                    x.begin() + static_cast<std::ptrdiff_t>((o + 1) * inner));
    }
  }
  return values;
}

void offer_faults(const group_call& g, std::size_t rank, std::size_t first, expectation& e) {
  const double n = static_cast<double>(g.ranks.size());
  if (n < 2) return;
  const bool average = g.reduction == numdiff::reduction::average;
  const auto own = [&g, rank, first, count = e.exact.size()](double factor) {
    const auto& x = g.in(rank).values;
    std::vector<double> values(x.begin() + static_cast<std::ptrdiff_t>(first),
                               x.begin() + static_cast<std::ptrdiff_t>(first + count));
    for (double& v : values) v *= factor;
    return values;
  };
  if (g.weighted()) {
    e.hypotheses.push_back(
        {"wrong-weighting", "every rank counts alike", [&g, first, n](const expectation& honest) {
           std::vector<double> values(honest.exact.size(), 0);
           for (std::size_t r = 0; r < g.ranks.size(); ++r) {
             for (std::size_t i = 0; i < values.size(); ++i) values[i] += g.in(r).values[first + i] / n;
           }
           return values;
         }});
  }
  // Before the others: where everything is lost they predict zeros as well.
  if (average && g.wire.precision < 24) {
    e.hypotheses.push_back({"low-precision-communication", "shares below the range of the wire were lost",
                            [&g, first, n](const expectation& honest) {
                              std::vector<double> values(honest.exact.size(), 0);
                              for (std::size_t r = 0; r < g.ranks.size(); ++r) {
                                for (std::size_t i = 0; i < values.size(); ++i)
                                  values[i] =
                                      g.wire.round(values[i] + g.wire.round(g.in(r).values[first + i] / n));
                              }
                              return values;
                            }});
  }
  e.hypotheses.push_back({"missing-reduction", "the output is the rank's own input",
                          [own](const expectation&) { return own(1); }});
  if (average) {
    e.hypotheses.push_back({"missing-reduction", "the output is the rank's own input over the rank count",
                            [own, n](const expectation&) { return own(1 / n); }});
    e.try_factor("wrong-divisor", "the sum was not divided", n);
    e.try_factor("wrong-divisor", "the sum was divided twice", 1 / n);
  } else {
    e.try_factor("duplicate-reduction", "reduced twice", n);
    e.try_factor("duplicate-reduction", "every rank counted twice", 2);
    e.try_factor("wrong-divisor", "the sum was divided by the rank count", 1 / n);
  }
  for (double d = 1; d <= 2 * n && average; ++d) {
    if (d != n && d != 1)
      e.try_factor("wrong-divisor", "divided by " + std::to_string(static_cast<int>(d)), n / d);
  }
}

// Every stored value lies on the grid of a narrower format, up to the average's divisor, and the error is
// what that wire makes.
void try_narrower_wire(const group_call& g, std::size_t rank, std::size_t first, const expectation& honest,
                       judgement& j) {
  if (!j.cause_hint.empty() || j.nonfinite_created + j.nonfinite_replayed > 0) return;
  const double n = static_cast<double>(g.ranks.size());
  for (const dtype t : {dtype::bf16, dtype::f16, dtype::f8e4m3fn, dtype::f8e5m2}) {
    const grid wire = grid_of(t);
    if (wire.precision >= g.wire.precision) continue;
    std::int64_t on = 0, on_after_division = 0, honest_on = 0, total = 0;
    double error_sq = 0, expected_sq = 0;
    const expectation narrow = part_of(reduced(g, wire), first, honest.exact.size());
    for (std::size_t i = 0; i < honest.exact.size(); ++i) {
      const double y = g.out(rank).values[i];
      if (!std::isfinite(y)) continue;
      ++total;
      on += wire.holds(y);
      on_after_division += wire.holds(static_cast<double>(static_cast<float>(y * n)));
      honest_on += wire.holds(grid_of(g.out(rank).type).round(honest.exact[i]));
      error_sq += square(y - honest.exact[i]);
      expected_sq += narrow.variance[i] + square(wire.ulp(honest.exact[i])) / 12;
    }
    const bool fits = total >= 4 && std::max(on, on_after_division) == total && honest_on * 2 < total;
    if (!fits || error_sq > 9 * expected_sq) continue;
    j.cause_hint = "low-precision-communication";
    j.reason = std::string("every value is one of ") + name_of(t) + ", the wire is declared wider";
    j.evidence.emplace_back("hypothesis_residual", std::sqrt(error_sq / std::max(expected_sq, 1e-300)));
    return;
  }
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
}  // namespace expect

replayed replay_collective(const model::collective_row& c, std::span<const op_instance> group) {
  replayed result;
  try {
    using namespace expect;
    const group_call g = group_of(c, group);
    std::vector<std::size_t> first;
    std::vector<expectation> all = expected_of(g, first);
    const bool reduces = g.operation == collective_operation::all_reduce ||
                         g.operation == collective_operation::reduce_scatter;
    for (std::size_t r = 0; r < group.size(); ++r) {
      if (g.operation == collective_operation::reduce && g.root >= 0 &&
          static_cast<std::size_t>(g.root) != r) {
        result.outputs.emplace_back();
        continue;
      }
      require(g.out(r).values.size() == all[r].exact.size(),
              "an output of another size than its inputs imply");
      if (reduces) offer_faults(g, r, first[r], all[r]);
      judgement j = judge(group[r], 0, all[r]);
      if (reduces && j.v == verdict::beyond && j.cause_hint == "op-overflow" && g.wire.precision < 24) {
        j.cause_hint = "low-precision-communication";
        j.reason = "a partial sum leaves the range of the wire";
      }
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

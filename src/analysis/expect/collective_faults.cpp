// What goes wrong in collectives: each fault is tried on the stored outputs.
#include "analysis/expect/collective.hpp"

#include <cmath>
#include <string>

#include "analysis/expect/moves.hpp"

namespace numdiff::analysis::expect {
namespace {

double square(double x) {
  return x * x;
}

// A scattered part that belongs to another rank.
void offer_other_parts(const group_call& g, std::size_t rank, expectation& e) {
  for (std::size_t r = 0; r < g.ranks.size(); ++r) {
    if (r == rank || g.out(r).values.size() != e.exact.size()) continue;
    e.hypotheses.push_back(
        {"shard-mismatch", "the part of rank " + std::to_string(r) + " of the group",
         [&g, r](const expectation&) { return part_of(reduced(g, g.wire), scattered_to(g, r)).exact; }});
  }
}

}  // namespace

void offer_kept(const group_call& g, std::size_t rank, expectation& e) {
  if (g.ranks.size() < 2) return;
  e.hypotheses.push_back({"replica-divergence", "the rank kept what it had",
                          [&g, rank](const expectation&) { return g.in(rank).values; }});
  for (std::size_t r = 0; r < g.ranks.size(); ++r) {
    if (r == rank || r == static_cast<std::size_t>(g.root)) continue;
    e.hypotheses.push_back({"shard-mismatch", "the data of rank " + std::to_string(r) + " of the group",
                            [&g, r](const expectation&) { return g.in(r).values; }});
  }
}

void offer_faults(const group_call& g, std::size_t rank, const std::vector<std::size_t>& at, expectation& e) {
  const double n = static_cast<double>(g.ranks.size());
  if (n < 2) return;
  const bool average = g.reduction == numdiff::reduction::average;
  const auto own = [&g, rank, &at](double factor) {
    std::vector<double> values;
    for (const std::size_t i : at) values.push_back(factor * g.in(rank).values[i]);
    return values;
  };
  if (g.weighted()) {
    e.hypotheses.push_back(
        {"wrong-weighting", "every rank counts alike", [&g, &at, n](const expectation& honest) {
           std::vector<double> values(honest.exact.size(), 0);
           for (std::size_t r = 0; r < g.ranks.size(); ++r) {
             for (std::size_t i = 0; i < values.size(); ++i) values[i] += g.in(r).values[at[i]] / n;
           }
           return values;
         }});
  }
  // Before the others: where everything is lost they predict zeros as well.
  if (average && g.wire.precision < 24) {
    e.hypotheses.push_back({"low-precision-communication", "shares below the range of the wire were lost",
                            [&g, &at, n](const expectation& honest) {
                              std::vector<double> values(honest.exact.size(), 0);
                              for (std::size_t r = 0; r < g.ranks.size(); ++r) {
                                for (std::size_t i = 0; i < values.size(); ++i)
                                  values[i] =
                                      g.wire.round(values[i] + g.wire.round(g.in(r).values[at[i]] / n));
                              }
                              return values;
                            }});
  }
  if (g.operation == collective_operation::reduce_scatter) offer_other_parts(g, rank, e);
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

void try_lost_shares(const group_call& g, std::size_t rank, const std::vector<std::size_t>& at,
                     const expectation& honest, judgement& j) {
  if (!j.cause_hint.empty() || j.flushed == 0 || g.reduction != numdiff::reduction::average) return;
  const double n = static_cast<double>(g.ranks.size());
  std::int64_t lost = 0;
  for (std::size_t i = 0; i < honest.exact.size(); ++i) {
    if (g.out(rank).values[i] != 0 || honest.exact[i] == 0) continue;
    for (std::size_t r = 0; r < g.ranks.size(); ++r) {
      if (g.wire.round(g.in(r).values[at[i]] / n) != 0) return;
    }
    ++lost;
  }
  j.cause_hint = "low-precision-communication";
  j.reason = "shares below the range of the wire were lost";
  j.evidence.emplace_back("shares_lost", static_cast<double>(lost));
}

void try_narrower_wire(const group_call& g, std::size_t rank, const std::vector<std::size_t>& at,
                       const expectation& honest, judgement& j) {
  if (!j.cause_hint.empty() || j.nonfinite_created + j.nonfinite_replayed > 0) return;
  const double n = static_cast<double>(g.ranks.size());
  for (const dtype t : {dtype::bf16, dtype::f16, dtype::f8e4m3fn, dtype::f8e5m2}) {
    const grid wire = grid_of(t);
    if (wire.precision >= g.wire.precision) continue;
    std::int64_t on = 0, on_after_division = 0, honest_on = 0, total = 0;
    double error_sq = 0, expected_sq = 0;
    const expectation narrow = part_of(reduced(g, wire), at);
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

}  // namespace numdiff::analysis::expect

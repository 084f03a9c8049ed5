// The parts of a region, replayed: exactly, and with random errors in every result inside.
#include <cmath>
#include <optional>

#include "analysis/expect/judge.hpp"
#include "analysis/expect/kinds.hpp"
#include "analysis/parts_program.hpp"

namespace numdiff::analysis {

using expect::require;

namespace {

// Uniform errors of deviation 1, the same for one seed.
double error_of(std::uint64_t seed, std::size_t i) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + i;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return (static_cast<double>(x >> 11) * 0x1p-53 - 0.5) * std::sqrt(12.0);
}

}  // namespace

// An exact result, or the change of it by noise in what the part read: its own roundings are the result's.
void parts_program::note(std::int32_t capture, const expect::expectation& e,
                         const std::vector<std::int64_t>& shape, bool exact) {
  composed& out = results_[capture];
  if (exact) {
    out = {e.exact, std::vector<double>(e.exact.size(), 0.0), e.variance, e.bound, e.defects, shape};
    return;
  }
  for (std::size_t i = 0; i < e.exact.size(); ++i) {
    const double change = e.exact[i] - out.values[i];
    if (std::isfinite(change)) out.squares[i] += change * change;
  }
}

std::map<std::int32_t, std::vector<double>> parts_program::once(std::uint64_t seed) {
  std::map<std::int32_t, std::vector<double>> values;
  for (std::size_t n = 0; n < program_.size(); ++n) {
    part& p = program_[n];
    for (std::size_t r = 0; r < p.sources.size(); ++r) {
      if (p.sources[r].from >= 0)
        p.stored.op.reads[r].value.values = p.sources[r].how.apply(values.at(p.sources[r].from));
    }
    const expect::call c(p.stored.op);
    expect::expectations all = expect::find_kind(p.stored.op.kind)(c);
    for (std::size_t w = 0; w < all.size() && w < p.stored.writes.size(); ++w) {
      expect::expectation& e = all[w];
      require(e.exact.size() == p.stored.op.writes[w].value.values.size(),
              "a part of another shape than its inputs imply");
      require(e.judged.empty(), "its parts are too large to replay whole");
      const std::int32_t capture = p.stored.writes[w];
      std::vector<double> v = e.exact;
      if (seed != 0 && !e.copies) {
        expect::output_format stored = expect::output_format_of(p.stored.op, p.stored.op.writes[w]);
        const expect::output_format coarse{coarse_, rounding::nearest_even, false, nullptr};
        for (std::size_t i = 0; i < v.size(); ++i) {
          if (!std::isfinite(v[i])) continue;
          const double rounded = std::max(stored.variance(v[i], i), coarse.variance(v[i], i));
          const double one_sided = e.bound.empty() ? 0 : e.bound[i] * e.bound[i] / 3;
          v[i] += std::sqrt(e.variance[i] + rounded + one_sided) * error_of(seed * 1000003 + n * 16 + w, i);
        }
      }
      note(capture, e, p.stored.op.writes[w].value.shape, seed == 0);
      if (const auto known = known_.find(capture); known != known_.end()) {
        const auto& [begin, deviation] = known->second;
        v = begin;
        for (std::size_t i = 0; i < deviation.size() && seed != 0; ++i) {
          if (std::isfinite(v[i])) v[i] += deviation[i] * error_of(seed * 1000003 + n * 16 + w, i);
        }
      }
      values[capture] = std::move(v);
    }
    if (p.log_sums.writes.empty()) continue;
    p.log_sums.reads = p.stored.op.reads;
    note(-2 - p.stored.writes[0], expect::log_sum_exp(expect::call(p.log_sums))[0],
         p.log_sums.writes[0].value.shape, seed == 0);
  }
  return values;
}

void parts_program::begin_at(std::int32_t capture, std::size_t fused, std::size_t write) {
  const composed& c = results_.at(capture);
  const stored_op& writer = fused_ops_[fused];
  const operand& written = writer.op.writes[write];
  const auto as_parts = [&](const operand& x) -> std::optional<arrangement> {
    auto how = arrange(x.value.values, x.value.shape, c.shape, c.values);
    if (!how || how->distance > same_tensor) return std::nullopt;
    return how;
  };
  const auto how = as_parts(written);
  if (!how) return;
  start& at = known_[capture];
  at.values = how->apply(written.value.values);
  // Another fused op reads it as it is, or cast.
  std::optional<std::vector<double>> cast;
  for (const stored_op& one : fused_ops_) {
    for (std::size_t r = 0; r < one.reads.size(); ++r) {
      if (fused_.writer(one.reads[r]) == writer.writes[write]) return;
      if (cast || fused_.behind(one.reads[r]) != writer.writes[write]) continue;
      if (const auto same = as_parts(one.op.reads[r])) cast = same->apply(one.op.reads[r].value.values);
    }
  }
  if (cast) {
    at.values = std::move(*cast);
    return;
  }
  const expect::output_format stored = expect::output_format_of(writer.op, written);
  std::vector<double> deviation(written.value.values.size());
  for (std::size_t i = 0; i < deviation.size(); ++i)
    deviation[i] = std::sqrt(stored.variance(written.value.values[i], i));
  at.deviation = how->apply(deviation);
}

std::map<double, std::string> parts_program::factors(std::int32_t capture) const {
  std::map<double, std::string> all;
  const auto name_factors = [&](std::int32_t i, const part& p) {
    const std::string& op = parts_.run.names().text(parts_.op(i).name);
    for (const auto& [name, value] : p.stored.op.scalars) {
      if (name == "alpha" || name == "scale" || name == "factor") all.emplace(value, name + " of " + op);
      if (name == "count" && value != 0) all.emplace(1 / value, "the division by the count of " + op);
    }
  };
  for (const bool writer : {true, false}) {
    auto p = program_.begin();
    for (const std::int32_t i : ops_) {
      if (!writer || (capture >= 0 && static_cast<std::uint32_t>(i) == parts_.capture(capture).op))
        name_factors(i, *p);
      ++p;
    }
  }
  return all;
}

void parts_program::run() {
  static_cast<void>(once(0));
  for (std::uint64_t seed = 1; seed <= noisy_runs; ++seed) static_cast<void>(once(seed));
}

}  // namespace numdiff::analysis

#include "analysis/envelope.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "analysis/align.hpp"
#include "analysis/local.hpp"
#include "analysis/measure.hpp"
#include "analysis/rules.hpp"

namespace numdiff::analysis {

namespace {

// The command without the name of the file that the run itself was written to.
std::string command_of(const model::run& run) {
  if (run.ranks.empty()) return {};
  const auto at = run.ranks.front().manifest.find("command");
  if (at == run.ranks.front().manifest.end()) return {};
  std::string text = at->second.value;
  const std::string name = run.path.substr(run.path.find_last_of('/') + 1);
  for (std::size_t found = text.find(name); !name.empty() && found != std::string::npos;
       found = text.find(name)) {
    const std::size_t begin = text.find_last_of(" =", found);
    text.erase(begin + 1, found + name.size() - begin - 1);
  }
  return text;
}

bool same_program(const model::run& a, const model::run& b) {
  if (a.world_size != b.world_size || a.ranks.empty() || b.ranks.empty()) return false;
  const std::string command = command_of(a);
  if (command.empty() || command != command_of(b)) return false;
  const auto agrees = [](const auto& one, const auto& other) {
    return std::ranges::all_of(one, [&](const auto& item) {
      if (item.second.klass != manifest_class::numeric) return true;
      const auto at = other.find(item.first);
      return at != other.end() && at->second.value == item.second.value;
    });
  };
  const auto &x = a.ranks.front().manifest, &y = b.ranks.front().manifest;
  return agrees(x, y) && agrees(y, x);
}

// |b - a| / |a|, nothing when what was recorded does not tell.
std::optional<double> distance_of(const run_index& x, const merged_capture& a, placement_cache& left,
                                  const run_index& y, const merged_capture& b, placement_cache& right) {
  if (equal(a, b)) return 0;
  const std::optional<measured> values = measure_values(x, a, left, y, b, right);
  const distances d = values ? values->apart : measure_sketches(x, a, y, b);
  if ((!d.from_values && !d.from_sketch) || d.contaminated || d.nan_mismatch + d.inf_mismatch > 0 ||
      !std::isfinite(d.relative_l2))
    return std::nullopt;
  return d.relative_l2;
}

// Adds what two runs say; the first op that is nondeterministic goes to `found`.
void add_pair(const model::run& a, const model::run& b, model::envelope& sum,
              std::set<model::capture_place>& unknown, std::vector<finding>& found) {
  symbols names;
  const run_index x(a, names, {}), y(b, names, {});
  placement_cache left, right;
  const bool repeated = same_program(a, b);
  bool told = false;
  std::uint64_t order = 0;
  for (const op_pair& pair : align(x, y)) {
    ++order;
    if (pair.fate != fate::matched) continue;
    bool same_reads = true;
    std::vector<const logical_capture*> other_bits;
    for (const capture_pair& c : align_captures(x, y, pair)) {
      if (c.reference < 0 || c.test < 0) {
        same_reads = false;
        continue;
      }
      const logical_capture& here = x.captures()[static_cast<std::size_t>(c.reference)];
      const merged_capture p = merge(x, here, left);
      const merged_capture q = merge(y, y.captures()[static_cast<std::size_t>(c.test)], right);
      const bool same = equal(p, q);
      if (!same && !here.written) same_reads = false;
      if (!same && here.written) other_bits.push_back(&here);
      const std::optional<double> d = distance_of(x, p, left, y, q, right);
      const model::capture_place where = key_of(x, here);
      if (!d) {
        unknown.insert(where);
        continue;
      }
      model::spread& s = sum.spreads[where];
      s.relative_l2 = std::max(s.relative_l2, *d);
      s.unit = std::max({s.unit, unit_roundoff(p.type), unit_roundoff(q.type)});
      ++s.pairs;
      s.different += !same;
    }
    if (!repeated || !same_reads || other_bits.empty()) continue;
    for (const logical_capture* c : other_bits) {
      const auto at = sum.spreads.find(key_of(x, *c));
      if (at != sum.spreads.end()) at->second.repeats_differ = true;
    }
    if (told) continue;
    told = true;
    finding f = stated("ND808", x.place_of(*other_bits.front()), order);
    f.message = "reads the same in two executions of one program, and writes other bits";
    found.push_back(std::move(f));
  }
}

}  // namespace

model::capture_place key_of(const run_index& run, const logical_capture& capture) {
  const logical_op& op = run.ops()[capture.op];
  model::capture_place where;
  where.step = op.step;
  where.micro_batch = op.micro_batch;
  where.phase = op.phase;
  where.role = capture.role;
  where.usage = capture.usage;
  where.call = op.call;
  where.ordinal = capture.ordinal;
  where.scope = run.names().text(op.scope);
  where.op = run.names().text(op.name);
  where.tensor = run.names().text(capture.name);
  return where;
}

measured_envelope measure_envelope(std::span<const model::run> runs) {
  measured_envelope result;
  std::set<model::capture_place> unknown;
  for (const model::run& run : runs) result.envelope.runs.push_back(run.path);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size(); ++j)
      add_pair(runs[i], runs[j], result.envelope, unknown, result.nondeterministic);
  }
  result.envelope.not_measured = static_cast<std::uint64_t>(std::ranges::count_if(
      unknown, [&](const auto& where) { return !result.envelope.spreads.contains(where); }));
  return result;
}

model::envelope measure_trusted(const model::run& reference, const model::run& trusted) {
  model::envelope envelope;
  std::set<model::capture_place> unknown;
  std::vector<finding> none;
  envelope.path = trusted.path;
  envelope.runs = {trusted.path};
  envelope.trusted = true;
  add_pair(reference, trusted, envelope, unknown, none);
  envelope.not_measured = unknown.size();
  // Keys are those of the reference; its ops and those of the trusted run have the same places.
  symbols names;
  const run_index run(trusted, names, {});
  for (const logical_op& op : run.ops()) {
    for (const local_judgement& j : judge_locally(run, op).outputs) {
      const auto at = envelope.spreads.find(key_of(run, run.captures()[static_cast<std::size_t>(j.capture)]));
      if (at != envelope.spreads.end()) at->second.local_error = j.worst.observed;
    }
  }
  return envelope;
}

double allowed_distance(const model::envelope& good, const model::spread& known, double unit,
                        bool estimated) {
  double limit = 0;
  if (good.trusted) {
    const bool coarser = known.unit > 0 && std::isfinite(known.unit) && std::isfinite(unit);
    limit = 2 * known.relative_l2 * (coarser ? std::max(1.0, unit / known.unit) : 1);
  } else {
    limit = known.relative_l2 * (1 + 1 / std::sqrt(static_cast<double>(std::max(1U, known.pairs))));
  }
  return estimated ? 1.5 * limit : limit;
}

}  // namespace numdiff::analysis

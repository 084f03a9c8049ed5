// Factors: whether one was applied upstream already, and whether one that only differs by name does harm.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "analysis/comparer.hpp"
#include "analysis/expect/decode.hpp"
#include "analysis/expect/scale_map.hpp"

namespace numdiff::analysis {

namespace {

bool same_factor(double a, double b) {
  return std::abs(a - b) <= 1e-3 * std::abs(b);
}

std::vector<double> scales_or_none(const model::rank_data& rank, const model::capture_row& row) {
  try {
    return decode_scales(rank, row);
  } catch (const std::runtime_error&) {
    return {};  // of a layout that is not known
  }
}

rescaling between(std::vector<double> written, std::vector<double> read) {
  if (written.size() != read.size() || written.empty()) return rescaling::other;
  // One unit of the narrowest format that holds an inverse, E4M3's.
  bool inverse = true;
  for (std::size_t i = 0; i < read.size(); ++i)
    inverse = inverse && std::abs(written[i] * read[i] - 1) < 0x1p-4;
  if (inverse) return rescaling::inverse;
  std::ranges::sort(written);
  std::ranges::sort(read);
  return written == read ? rescaling::regrouped : rescaling::other;
}

// What an op's scalar multiplies its result by; 0: it does something else.
double multiplier(std::string_view name, double value) {
  if (name == "count") return value != 0 ? 1 / value : 0;
  return name == "factor" || name == "alpha" || name == "scale" || name == "loss_scale" ? value : 0;
}

}  // namespace

// An op that wrote what this one reads, directly or through others, multiplies by this.
bool judged_run::applied_before(const logical_op& op, double factor, int hops) const {
  if (hops == 0 || !std::isfinite(factor)) return false;
  for (std::uint32_t i = 0; i < op.captures; ++i) {
    const auto at = static_cast<std::int32_t>(op.first_capture + i);
    const logical_capture& c = index.captures()[static_cast<std::size_t>(at)];
    if (c.written || c.role == role::scalar) continue;
    const link from = flow.of(at).from;
    if (from.from < 0 || from.origin < origin::moved) continue;
    const logical_op& writer = index.ops()[index.captures()[static_cast<std::size_t>(from.from)].op];
    for (std::uint32_t k = 0; k < writer.captures; ++k) {
      const logical_capture& s = index.captures()[writer.first_capture + k];
      if (s.role != role::scalar || s.members.empty()) continue;
      if (same_factor(
              multiplier(index.names().text(s.name), scalar_of(index.capture_row_of(s.members.front()))),
              factor))
        return true;
    }
    if (applied_before(writer, factor, hops - 1)) return true;
  }
  return false;
}

// How the scales of a read differ from those that its codes were written with.
rescaling judged_run::rescaled(std::int32_t capture) const {
  const logical_capture& c = index.captures()[static_cast<std::size_t>(capture)];
  if (c.written || c.members.empty()) return rescaling::none;
  const model::capture_row& read = index.capture_row_of(c.members.front());
  const auto second_level = [&](const member& m) {
    return expect::global_scale_of(index.rank_of(m).strings[index.capture_row_of(m).scaling]);
  };
  // Digests are of codes and of the scales of their groups.
  if (const link& from = flow.of(capture).from; from.origin >= origin::moved) {
    if (read.scaling == 0 || from.from < 0) return rescaling::none;
    const logical_capture& writer = index.captures()[static_cast<std::size_t>(from.from)];
    if (index.capture_row_of(writer.members.front()).scaling == 0) return rescaling::none;
    return second_level(writer.members.front()) == second_level(c.members.front()) ? rescaling::none
                                                                                   : rescaling::other;
  }
  // Tensors of few values may be equal by chance.
  if (read.scaling == 0 || read.count < 16 || 2 * read.zero > read.count) return rescaling::none;
  const model::rank_data& rank = index.rank_of(c.members.front());
  rescaling found = rescaling::none;
  for (std::int32_t at = 0; at < capture; ++at) {
    const logical_capture& w = index.captures()[static_cast<std::size_t>(at)];
    if (!w.written) continue;
    for (const member& m : w.members) {
      const model::capture_row& row = index.capture_row_of(m);
      if (m.rank != c.members.front().rank || row.scaling == 0 || row.dtype != read.dtype) continue;
      if (row.digest0 != read.digest0 || row.digest1 != read.digest1 || row.count != read.count) continue;
      if (row.scale_digest0 == read.scale_digest0 && row.scale_digest1 == read.scale_digest1) {
        return rescaling::none;
      }
      found = between(scales_or_none(rank, row), scales_or_none(rank, read));
    }
  }
  return found;
}

// A factor may differ between honest runs when the data carry the difference. It does harm when what the op
// read is alike in both runs and what it wrote is not.
void comparer::judge_factors(std::vector<item>& items) {
  for (item& x : items) {
    if (!x.counted || x.any().role != role::scalar || x.verdict != verdict::within) continue;
    if (names_.text(x.test->name) != "factor") continue;
    const double r = scalar_of(reference_.index.capture_row_of(x.reference->members.front()));
    const double t = scalar_of(test_.index.capture_row_of(x.test->members.front()));
    if (r == 0 || !std::isfinite(t / r) || same_factor(t, r)) continue;
    bool alike = true, apart = false;
    for (const item& y : items) {
      if (!y.counted || y.any().role == role::scalar) continue;
      const bool equal = y.verdict == verdict::equal;
      const distances d = equal ? distances() : distance(*y.reference_merged, *y.test_merged);
      const bool known = d.from_values || (d.from_sketch && !d.contaminated);
      if (!y.any().written) alike = alike && (equal || (known && d.relative_l2 < 0.1));
      if (y.any().written)
        apart = apart || (known && d.cosine > 0.99 && std::abs(d.factor * r / t - 1) < 0.1);
    }
    if (!alike || !apart) continue;
    x.verdict = verdict::beyond;
    x.reason = "what the op reads is alike, what it writes differs by this factor";
  }
}

}  // namespace numdiff::analysis

// Random rounding, told by its odds: an element at a share f of the way between two numbers of the format is
// rounded away from the lower one with probability f.
#include <cmath>

#include "analysis/expect/explain.hpp"

namespace numdiff::analysis::expect {
namespace {

constexpr std::int64_t enough_elements = 64;
constexpr double most_sigma = 4;
constexpr double sharp = 0.02;  // of a spacing: what an element may be off by before it is rounded

}  // namespace

void explain_stochastic(const operand& out, const expectation& honest, const output_format& format,
                        judgement& j) {
  // Replay itself does not know where between its neighbours a double lies.
  if (honest.copies || format.mode == rounding::stochastic || format.numbers.precision > 40) return;
  std::int64_t between = 0, not_nearest = 0;
  double drift = 0, drift_var = 0;        // of the number of elements rounded up
  double surprise = 0, surprise_var = 0;  // of the log likelihood
  const std::size_t judged = honest.judged.empty() ? honest.exact.size() : honest.judged.size();
  for (std::size_t k = 0; k < judged; ++k) {
    const std::size_t i = honest.judged.empty() ? k : static_cast<std::size_t>(honest.judged[k]);
    const double stored = out.value.values[i], exact = honest.exact[i];
    if (!std::isfinite(stored) || !std::isfinite(exact)) continue;
    const double step = std::fabs(format.ulp(exact, i));
    if (!(step > 0) || std::fabs(exact) > format.numbers.maximum * std::fabs(format.scale(i))) continue;
    const double low = std::floor(exact / step) * step, share = (exact - low) / step;
    const double blur = sharp + honest.internal_limit * std::sqrt(honest.variance[i]) / step;
    const double at = (stored - low) / step;  // 0 or 1
    if (at < -blur || at > 1 + blur || (at > blur && at < 1 - blur)) return;
    if (share < blur || share > 1 - blur || blur > 0.1) continue;
    ++between;
    const bool up = at > 0.5;
    not_nearest += up != (share > 0.5);
    drift += (up ? 1 : 0) - share;
    drift_var += share * (1 - share);
    const double odds = std::log(share / (1 - share));
    surprise += ((up ? 1 : 0) - share) * odds;
    surprise_var += share * (1 - share) * odds * odds;
  }
  if (between < enough_elements || not_nearest * 20 < between) return;
  const double z = drift / std::sqrt(drift_var);
  const double s = surprise_var > 0 ? surprise / std::sqrt(surprise_var) : 0;
  if (std::fabs(z) > most_sigma || std::fabs(s) > most_sigma) return;
  j.cause_hint = "stochastic-rounding";
  j.reason = "elements are rounded up as often as random rounding does";
  j.evidence.emplace_back("rounded_away_from_nearest", static_cast<double>(not_nearest));
  j.evidence.emplace_back("drift_sigma", z);
  j.evidence.emplace_back("odds_sigma", s);
}

}  // namespace numdiff::analysis::expect

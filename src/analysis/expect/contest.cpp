// Accumulators in a race: each gives every sampled value a probability, and the unlikely ones fall behind.
#include "analysis/expect/forensics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "analysis/expect/emulation.hpp"

namespace numdiff::analysis::expect {
namespace {

constexpr double decisive_bits = 20, deciding_bits = 5;
constexpr std::int64_t enough_elements = 3;
constexpr double enough_agreement = 0.9;
// Share of elements that any emulation may miss: one step that went the other way spoils an element.
constexpr double stray = 1.0 / 256;
// Orders of addition make errors from an eighth to eight times the rms model; 0: none at all.
constexpr std::array<double, 5> noise_scales = {0, 0.125, 0.5, 2, 8};
// Elements of each round of the race, within its multiply-adds but at least the least.
struct race_round {
  std::size_t elements;
  double multiply_adds;
};
constexpr race_round race[] = {{8, 0x1p13}, {64, 0x1p17}, {1024, 0x1p20}};
constexpr std::size_t least_elements = 8;
// Left behind for good by this much; the best of every accumulator stays.
constexpr double hopeless_bits = 60;
constexpr std::size_t most_finalists = 16;
constexpr std::size_t most_surprising = 128;

struct sample {
  std::size_t at = 0;
  double stored = 0, exact = 0, low = 0;
  double model = 0;  // variance of a sum in random order, per squared unit roundoff
  double other = 0;  // variance of what a factor and an addend add
  double least = 0;  // least likelihood of any value: errors of every size are alike
};

struct contestant {
  const emulation* what = nullptr;
  std::array<double, noise_scales.size()> bits{};  // per scale of its noise
  std::vector<std::array<float, noise_scales.size()>> each;
  double errors = 0;  // of its values, squared

  [[nodiscard]] std::size_t scale() const {
    return static_cast<std::size_t>(std::max_element(bits.begin(), bits.end()) - bits.begin());
  }
  [[nodiscard]] double best() const { return *std::max_element(bits.begin(), bits.end()); }
};

double square(double x) {
  return x * x;
}

// Probability that an error of logistic distribution lies in [from, to].
double probability(double from, double to, double deviation) {
  if (!(deviation > 0)) return from <= 0 && 0 <= to ? 1 : 0;
  if (from > 0) {
    const double swap = -from;
    from = -to;
    to = swap;
  }
  const double scale = deviation * 0.5513;  // sqrt(3) / pi
  const double below_to =
      to > 0 ? 1 / (1 + std::exp(-to / scale)) : std::exp(to / scale) / (1 + std::exp(to / scale));
  const double below_from = std::exp(from / scale) / (1 + std::exp(from / scale));
  return below_to - below_from;
}

class contest {
 public:
  contest(const call& c, const product& p, const expectation& honest)
      : c_(c), p_(p), honest_(honest), format_(output_format_of(c.op(), c.op().writes[0])) {}

  accumulator_fit run();

 private:
  void draw();
  [[nodiscard]] sample sample_of(std::size_t at) const;
  [[nodiscard]] bool surprising(std::size_t at) const;
  void score(contestant& one, const sample& s) const;
  void thin_out(std::vector<contestant>& all, const std::string& declared, std::size_t most) const;

  const call& c_;
  const product& p_;
  const expectation& honest_;
  output_format format_;
  std::vector<sample> samples_;
};

// The values of C beside which the declared accumulator's errors vanish.
bool contest::surprising(std::size_t at) const {
  const double stored = c_.write(0).values[at], exact = honest_.exact[at];
  if (!std::isfinite(stored) || !std::isfinite(exact)) return false;
  const double spread = 8 * std::sqrt(honest_.variance[at]) + (honest_.bound.empty() ? 0 : honest_.bound[at]);
  return std::fabs(stored - exact) > format_.half_width(stored, at) + spread;
}

sample contest::sample_of(std::size_t at) const {
  sample s;
  s.at = at;
  s.stored = c_.write(0).values[at];
  s.exact = honest_.exact[at];
  s.low = honest_.low.empty() ? 0 : honest_.low[at];
  const std::size_t row = at / p_.n, batch = row / p_.m;
  const double *a = p_.left(batch) + row % p_.m * p_.k, *b = p_.right(batch) + at % p_.n;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < p_.k; ++i) {
    const double x = a[i] * b[i * p_.n];
    sum += x;
    squares += square(x);
  }
  const double n = static_cast<double>(p_.k);
  s.model = square(rho_factor * p_.alpha) * ((n / 6 + 1) * squares + (n / 3 + 1) * square(sum));
  if (p_.alpha != 1 || p_.addend != nullptr) {
    const double u = c_.wide() ? 0x1p-53 : 0x1p-24;
    s.other = square(rho_factor * u) * (2 * square(s.exact) + square(p_.alpha * sum));
  }
  const double width = std::fabs(format_.ulp(s.stored, at));
  s.least = width / (80 * std::max(std::fabs(s.stored - s.exact), width));
  return s;
}

// Elements spread over those that were judged, so that every round sees all of them, by turns with some that
// the declared accumulator does not explain: few elements may tell two accumulators apart.
void contest::draw() {
  const auto& judged = honest_.judged;
  const std::size_t total = judged.empty() ? honest_.exact.size() : judged.size();
  const auto place = [&](std::size_t q) { return judged.empty() ? q : static_cast<std::size_t>(judged[q]); };
  std::vector<std::size_t> odd;
  for (std::size_t q = 0; q < total; ++q) {
    if (surprising(place(q))) odd.push_back(place(q));
  }
  const auto affordable = static_cast<std::size_t>(race[2].multiply_adds / static_cast<double>(p_.k));
  const std::size_t wanted = std::min(total, std::clamp(affordable, least_elements, race[2].elements));
  std::vector<std::size_t> spread;
  for (std::size_t q = 0; q < wanted; ++q) {
    const std::size_t at = place(q * total / wanted);
    if (std::isfinite(c_.write(0).values[at]) && std::isfinite(honest_.exact[at])) spread.push_back(at);
  }
  // A step that shares no factor with the length visits every element once.
  const auto mixed = [](const std::vector<std::size_t>& from, std::size_t most) {
    const std::size_t n = from.size();
    std::size_t step = std::max<std::size_t>(1, static_cast<std::size_t>(0.618 * static_cast<double>(n)));
    while (std::gcd(step, n) > 1) ++step;
    std::vector<std::size_t> to;
    for (std::size_t q = 0, i = 0; q < std::min(n, most); ++q, i = (i + step) % n) to.push_back(from[i]);
    return to;
  };
  odd = mixed(odd, most_surprising);
  spread = mixed(spread, spread.size());
  std::vector<bool> taken(honest_.exact.size());
  for (std::size_t q = 0; q < std::max(odd.size(), spread.size()); ++q) {
    for (const std::vector<std::size_t>* list : {&odd, &spread}) {
      if (q >= list->size() || taken[(*list)[q]]) continue;
      taken[(*list)[q]] = true;
      samples_.push_back(sample_of((*list)[q]));
    }
  }
}

void contest::score(contestant& one, const sample& s) const {
  const emulation& e = *one.what;
  double from_exact = 0;
  if (e.sum) {
    const std::size_t row = s.at / p_.n, batch = row / p_.m;
    const double v = e.sum(p_.left(batch) + row % p_.m * p_.k, p_.right(batch) + s.at % p_.n, p_.n, p_.k);
    from_exact = (p_.alpha * v + p_.added(s.at) - s.exact) - s.low;
    if (std::isfinite(from_exact)) one.errors += square(from_exact);
  }
  const double d = (s.stored - s.exact) - s.low - from_exact;
  double width = std::fabs(format_.ulp(s.stored, s.at));
  bool possible = std::isfinite(d);
  if (e.last.maximum > 0) {
    possible = possible && e.last.holds(s.stored);
    width = std::max(width, e.last.ulp(s.stored));
  }
  double from = d - width / 2, to = d + width / 2, share = 1;
  if (format_.mode == rounding::toward_zero || e.cuts_output) {
    from = s.stored < 0 ? d - width : d;
    to = s.stored < 0 ? d : d + width;
  } else if (format_.mode == rounding::stochastic) {
    from = d - width;
    to = d + width;
    share = 0.5;
  }
  const double reach = 1e-9 * width;
  std::array<float, noise_scales.size()> bits{};
  for (std::size_t k = 0; k < noise_scales.size(); ++k) {
    const double deviation = std::sqrt(square(noise_scales[k] * e.noise) * s.model + s.other);
    // An accumulator of few bits never adds without error.
    const bool allowed = possible && (noise_scales[k] > 0 || e.noise < 0x1p-20);
    const double p = allowed ? share * probability(from - reach, to + reach, deviation) : 0;
    bits[k] = static_cast<float>(std::log2((1 - stray) * p + stray * s.least));
    one.bits[k] += static_cast<double>(bits[k]);
    if (e.noise == 0) {
      bits.fill(bits[0]);
      for (std::size_t other = 1; other < noise_scales.size(); ++other) one.bits[other] = one.bits[0];
      break;
    }
  }
  one.each.push_back(bits);
}

void contest::thin_out(std::vector<contestant>& all, const std::string& declared, std::size_t most) const {
  std::sort(all.begin(), all.end(),
            [](const contestant& a, const contestant& b) { return a.best() > b.best(); });
  const double top = all.front().best();
  std::map<std::string, std::size_t> kept;
  std::size_t others = 0;
  std::erase_if(all, [&](const contestant& x) {
    const std::string& name = x.what->accumulator;
    if (++kept[name] == 1 && (name == declared || x.best() >= top - 4 * hopeless_bits)) return false;
    return x.best() < top - hopeless_bits || ++others > most;
  });
}

accumulator_fit contest::run() {
  accumulator_fit fit;
  fit.declared = declared_accumulator(c_);
  draw();
  if (samples_.empty()) return fit;
  const std::vector<emulation> ways = emulations(c_, p_);
  std::vector<contestant> all;
  for (const emulation& e : ways) all.push_back({&e, {}, {}, 0});
  std::size_t done = 0;
  for (const race_round& r : race) {
    const auto affordable = static_cast<std::size_t>(r.multiply_adds / static_cast<double>(p_.k));
    const std::size_t until =
        &r == &race[2] ? samples_.size()
                       : std::min(samples_.size(), std::clamp(affordable, least_elements, r.elements));
    for (; done < until; ++done) {
      for (contestant& one : all) score(one, samples_[done]);
    }
    if (&r != &race[2]) thin_out(all, fit.declared, &r == &race[0] ? all.size() : most_finalists);
  }
  std::sort(all.begin(), all.end(),
            [](const contestant& a, const contestant& b) { return a.best() > b.best(); });
  const contestant& best = all.front();
  const contestant& declared = *std::find_if(
      all.begin(), all.end(), [&](const contestant& x) { return x.what->accumulator == fit.declared; });
  const std::size_t at_best = best.scale(), at_declared = declared.scale();
  std::int64_t as_best = 0;
  for (std::size_t q = 0; q < samples_.size(); ++q) {
    const double here = static_cast<double>(best.each[q][at_best]);
    if (here > std::log2(2 * stray * samples_[q].least)) ++as_best;
    if (here > static_cast<double>(declared.each[q][at_declared]) + deciding_bits) ++fit.deciding;
  }
  fit.elements = static_cast<std::int64_t>(samples_.size());
  fit.agreement = static_cast<double>(as_best) / static_cast<double>(fit.elements);
  fit.margin = best.best() - declared.best();
  if (fit.agreement < enough_agreement) return fit;
  if (fit.margin < decisive_bits || fit.deciding < std::min(enough_elements, fit.elements)) {
    fit.alike = {fit.declared};
    return fit;
  }
  fit.lead = fit.margin;
  std::vector<const emulation*> alike;
  for (const contestant& x : all) {
    if (x.what->accumulator != best.what->accumulator) fit.lead = std::min(fit.lead, best.best() - x.best());
    if (x.best() > best.best() - decisive_bits) alike.push_back(x.what);
  }
  std::sort(alike.begin(), alike.end());  // in the order of the list
  const auto honest = [](const emulation* e) { return *e->cause == 0; };
  if (std::any_of(alike.begin(), alike.end(), honest))
    std::erase_if(alike, [&](const emulation* e) { return !honest(e); });
  fit.cause = alike.front()->cause;
  for (const emulation* e : alike) {
    if (fit.cause != nullptr && std::string_view(e->cause) != fit.cause) fit.cause = nullptr;
    if (std::find(fit.alike.begin(), fit.alike.end(), e->accumulator) == fit.alike.end())
      fit.alike.push_back(e->accumulator);
  }
  const auto error_of = [&](const contestant& x) {
    if (x.what->sum) return x.errors / static_cast<double>(samples_.size());
    double all_errors = 0;
    const double scale = std::max(1.0, noise_scales[x.scale()]);
    for (const sample& s : samples_) all_errors += square(scale * x.what->noise) * s.model;
    return all_errors / static_cast<double>(samples_.size());
  };
  const double of_declared = error_of(declared);
  fit.relative_error = of_declared > 0 ? std::sqrt(error_of(best) / of_declared) : HUGE_VAL;
  return fit;
}

}  // namespace

accumulator_fit fit_accumulator(const call& c, const product& p, const expectation& honest) {
  return contest(c, p, honest).run();
}

}  // namespace numdiff::analysis::expect

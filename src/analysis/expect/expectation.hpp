#pragma once
// What an honest execution of an op would have written: the exact result and the size of the errors
// that its formats and its accumulator make. Filled by the kinds, compared by judge().
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/expect/replay.hpp"

namespace numdiff::analysis::expect {

struct expectation;

// A candidate explanation: the values an execution with this fault would have computed before its
// output rounding. Evaluated only when the output is beyond its expectation.
struct hypothesis {
  std::string cause;                                              // a name of docs/causes.md
  std::string form;                                               // what was tried, for people
  std::function<std::vector<double>(const expectation&)> values;  // one per output element
};

// Why an element of the exact result is not finite.
enum class defect : std::uint8_t {
  none,
  inherited,
  masked_row,
  accumulator_overflow,
  inner_overflow,
  empty_merge,   // -inf minus -inf
  masked_value,  // it is finite, without what a factor of zero hides
};

struct expectation {
  std::vector<double> exact;         // the replayed result, per element
  std::vector<double> low;           // exact result minus `exact`; empty when double is exact enough
  std::vector<double> variance;      // of the errors inside the op, before output rounding
  std::vector<double> bound;         // largest one-sided error inside the op; empty: none
  std::vector<double> rounding;      // variance of the output rounding; empty: by format and value
  std::vector<defect> defects;       // empty: all none
  std::vector<std::int64_t> judged;  // elements that were replayed; empty: all
  std::vector<hypothesis> hypotheses;
  // What a kind knows beyond the elements (a scale that does not fit, a row that is gone): may change the
  // answer.
  std::function<void(const expectation&, judgement&)> review;
  double internal_limit = 6;    // twice the multiples of its internal sigma that one element may reach
  double rms_limit = 3.6;       // multiples of the internal sigma that the rms of all may reach
  bool judges_hidden = false;   // the places that the output hides are the op's business
  double divisor = 0;           // the count that the result was divided by, 0 none
  bool copies = false;          // values must be equal, not near
  int choice = 0;               // of the meanings that shapes leave open, the one that was written
  double grain = 0;             // of sums and products below the normal range of the op's arithmetic
  double probe_ratio = 0;       // of random projections of what is not replayed
  double probe_limit = 0;       // 0: not probed
  std::int64_t probe_row = -1;  // a row whose projection is outside its bound

  void resize(std::size_t n, bool wide) {
    exact.assign(n, 0);
    variance.assign(n, 0);
    if (wide) low.assign(n, 0);
  }
  template <class R>
  void set(std::size_t i, R value, double internal_variance) {
    exact[i] = static_cast<double>(value);
    if (!low.empty()) low[i] = static_cast<double>(value - static_cast<R>(exact[i]));
    variance[i] = internal_variance;
  }
  void allow(std::size_t i, double one_sided) {
    if (bound.empty()) bound.assign(exact.size(), 0);
    bound[i] = one_sided;
  }
  // The whole result times a factor: a known factor f was left out (1/f) or applied twice (f).
  void try_factor(std::string cause, std::string form, double f) {
    hypotheses.push_back({std::move(cause), std::move(form), [f](const expectation& honest) {
                            std::vector<double> values = honest.exact;
                            for (double& v : values) v *= f;
                            return values;
                          }});
  }
  void know_factor(const std::string& name, double f) {
    if (f == 1 || f == 0) return;
    try_factor("factor-missing", name + " was not applied", 1 / f);
    try_factor("factor-repeated", name + " was applied twice", f);
  }
  void mark(std::size_t i, defect d) {
    if (defects.empty()) defects.assign(exact.size(), defect::none);
    defects[i] = d;
  }
};

}  // namespace numdiff::analysis::expect

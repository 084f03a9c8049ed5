#pragma once
// Which accumulator a product used, from its stored inputs and outputs.
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/expect/judge.hpp"
#include "analysis/expect/matmul.hpp"

namespace numdiff::analysis::expect {

// Accumulators are compared by the probability that they give each stored value, its logarithm to the base
// of two summed over sampled elements: bits. At least 20 of them decide.
struct accumulator_fit {
  // Those that fit best: one, or several that the bits do not tell apart; empty: none fits. Where honest ones
  // are among them, only these.
  std::vector<std::string> alike;
  std::string declared;
  const char* cause = "";     // of the best one
  double margin = 0;          // bits by which the best one fits better than the declared one
  double lead = 0;            // bits by which the best one fits better than the next
  double agreement = 0;       // share of the sampled elements that are as the best one has them
  std::int64_t elements = 0;  // sampled
  std::int64_t deciding = 0;  // of these, told apart from the declared accumulator by 5 bits each
  double relative_error = 0;  // rms error that the best one makes, over that of the declared one

  // Accumulators of one cause, the declared one not among them, explain the stored bits.
  [[nodiscard]] bool decided() const noexcept {
    return !alike.empty() && cause != nullptr && alike.front() != declared;
  }
  [[nodiscard]] std::string names(const char* conjunction) const;
};

// Emulates on a bounded number of multiply-adds, whatever the size of the product.
[[nodiscard]] accumulator_fit fit_accumulator(const call& c, const product& p, const expectation& honest);

// Of a product's judgement: names the accumulator in place of the declared one where the stored bits decide
// and the answer is beyond, or becomes so since the declared accumulator would have lost less.
void name_accumulator(const call& c, const product& p, const expectation& honest, judgement& j);

}  // namespace numdiff::analysis::expect

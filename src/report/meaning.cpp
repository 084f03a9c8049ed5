#include "report/meaning.hpp"

namespace numdiff::report {

namespace {

struct meaning {
  std::string_view name;
  const char* words;
};

constexpr meaning symptoms[] = {
    {"nan", "a value is not a number"},
    {"inf", "a value is infinite"},
    {"overflow", "values became infinite or the maximum"},
    {"underflow", "nonzero values became zero"},
    {"saturation", "values stand at the maximum of the format"},
    {"bias", "the error is one-sided"},
    {"drift", "the error is above expectation and grows"},
    {"factor", "the values are off by a common factor"},
    {"lost-update", "a state did not change"},
    {"invariant", "a rule that must hold does not"},
    {"mismatch", "the error is above expectation"},
    {"structure", "ops or tensors are missing, extra or of another shape"},
    {"undefined", "both answers are allowed"},
    {"noise", "no more than the formats explain"},
    {"slow", "lower precision brought no speed"},
};

constexpr meaning causes[] = {
    {"cast-overflow", "values exceed the range of the format they are cast to"},
    {"op-underflow", "a product, square or power inside the op falls to zero"},
    {"op-overflow", "a value inside the op exceeds the range of its format"},
    {"accumulator-overflow", "the terms are in range, their sum is not"},
    {"side-value-overflow", "metadata of a block exceeds its format"},
    {"score-overflow", "attention scores exceed the range before they are scaled"},
    {"cast-underflow", "values fall below the smallest subnormal of the format they are cast to"},
    {"loss-scale", "the loss scale is missing, too low or too high"},
    {"constant-underflow", "a constant becomes zero or changes in the op's format"},
    {"fully-masked-row", "a softmax row has no visible entry"},
    {"mask-add-overflow", "masks added to each other leave the finite range"},
    {"empty-state-merge", "two empty partial softmax states are merged"},
    {"masked-value-leak", "a non-finite value at a masked place meets a zero weight"},
    {"zero-scale", "the scale of a block is zero or divides by zero"},
    {"scale-out-of-range", "the scale cannot be held in its format"},
    {"stale-scale", "the scale follows an old amax"},
    {"uncalibrated-scale", "the scale was never set"},
    {"scale-mismatch", "the scale that decodes is not the one that encoded"},
    {"scale-granularity", "one scale spans groups of very different size"},
    {"scale-index", "groups read the scale of another group"},
    {"scale-direction", "encode and decode scale are swapped"},
    {"nan-dropped", "a NaN or Inf is hidden by amax, max, clamp or a saturating cast"},
    {"low-precision-accumulate", "the accumulator has too few bits"},
    {"narrow-accumulator", "products are aligned and cut before they are added"},
    {"low-precision-partials", "partial sums are rounded before they are combined"},
    {"reduced-input-precision", "inputs are rounded to fewer bits than their format has"},
    {"truncating-cast", "a cast cuts instead of rounding"},
    {"stochastic-rounding", "the difference is that of random rounding"},
    {"double-rounding", "a value was rounded through a third format"},
    {"rounding-order", "the same value is rounded at another place in the two runs"},
    {"constant-precision", "a constant has another precision in the two runs"},
    {"cancellation", "the difference of nearly equal numbers"},
    {"unrepresentable-integer", "the format cannot hold a position or counter"},
    {"lost-update", "a state did not change because the step is below half an ulp"},
    {"cast-convention", "formats or saturation rules of the same name differ"},
    {"factor-repeated", "a known factor was applied twice"},
    {"factor-missing", "a known factor was not applied"},
    {"missing-reduction", "partial sums are used as if they were reduced"},
    {"duplicate-reduction", "reduced or replicated data are reduced again"},
    {"wrong-divisor", "an average divides by the wrong count"},
    {"wrong-weighting", "a mean of means weighs ranks or micro-batches instead of elements"},
    {"low-precision-communication", "the wire format loses bits or range"},
    {"replica-divergence", "what must be equal on all ranks is not"},
    {"collective-mismatch", "ranks of a group call different collectives, or with other counts or formats"},
    {"shard-mismatch", "a rank holds or reads the wrong part"},
    {"recompute-mismatch", "a recomputed value differs from the stored one"},
    {"storage-corruption", "a value changed with no op between"},
    {"uninitialised", "padding or unused memory took part"},
    {"input-differs", "the runs started from different inputs, weights or seeds"},
    {"setting-differs", "a recorded numeric setting differs and its signature fits"},
    {"nondeterministic", "two executions of the same program differ"},
    {"structure-differs", "ops or tensors have no partner"},
    {"cast-overhead", "casts take the time that lower precision saves"},
    {"shape-unfit", "the shape does not suit the fast kernels"},
    {"launch-bound", "kernels are shorter than their launches"},
    {"memory-bound", "memory traffic bounds the time"},
    {"fallback-kernel", "a slow kernel stands in for the fast one"},
    {"reduction-order", "another order of the same sum, within its bound"},
    {"expected-rounding", "what the formats predict"},
    {"expected-quantization", "what format and scaling predict"},
    {"convention-undefined", "both answers are allowed"},
    {"decision-flip", "a discrete choice flipped within the error of its input"},
    {"handled-overflow", "non-finite gradients in a step that was skipped"},
    {"open", "the evidence does not decide"},
};

template <std::size_t N>
const char* find(const meaning (&list)[N], std::string_view name) noexcept {
  for (const meaning& m : list)
    if (m.name == name) return m.words;
  return "";
}

}  // namespace

const char* symptom_meaning(std::string_view name) noexcept {
  return find(symptoms, name);
}
const char* cause_meaning(std::string_view name) noexcept {
  return find(causes, name);
}

}  // namespace numdiff::report

#include "analysis/rules.hpp"

#include <stdexcept>
#include <utility>

#include "analysis/predicates.hpp"

namespace numdiff::analysis {

namespace {

using namespace when;

constexpr const char* run_wider = "run this op alone in fp32 on the same inputs";

constexpr rule table[] = {
    {"ND190", "overflow", "handled-overflow", handled, "",
     "made non-finite gradients in a step that was skipped", true},
    {"ND191", "undefined", "convention-undefined", by_convention, "",
     "fills rows that see nothing by another convention", true},

    {"ND703", "mismatch", "uninitialised", hinted_beyond, "fill the padding with another value and compare",
     "lets padding take part"},

    // masks and range
    {"ND201", "nan", "fully-masked-row", masked_row,
     "give the row one visible entry, or define its result as zero", "met a row without any visible entry"},
    {"ND202", "overflow", "mask-add-overflow", when::adds_masks,
     "select with one combined mask instead of adding masks", "added masks past the finite range"},
    {"ND203", "nan", "empty-state-merge", empty_merge,
     "give a state without entries the weight zero before it is merged", "merges states that saw nothing"},
    {"ND204", "nan", "masked-value-leak", leaks, "clear what is masked, or select instead of multiplying",
     "multiplies a non-finite value at a masked place by zero"},
    {"ND302", "nan", "scale-out-of-range", bad_scales, "keep the scale in fp32 or bound it by its format",
     "has a scale that is not finite"},
    {"ND101", "overflow", "score-overflow", scores,
     "scale the queries before the product, or keep the scores in bf16 or fp32",
     "made attention scores beyond the range of their format"},
    {"ND609", "overflow", "low-precision-communication", out_of_range, "repeat with an fp32 wire format",
     "leaves the range of the wire"},
    {"ND610", "underflow", "low-precision-communication", lost_all, "repeat with an fp32 wire format",
     "falls below the range of the wire"},
    {"ND112", "saturation", "accumulator-overflow", in_range, "accumulate in a wider format",
     "saturates its accumulator"},
    {"ND102", "overflow", "accumulator-overflow", sum_overflowed, "accumulate in a wider format",
     "overflowed its accumulator"},
    {"ND110", "overflow", "loss-scale", overscaled, "repeat the step with a smaller loss scale",
     "overflows under a loss scale that is too high"},
    {"ND105", "overflow", "side-value-overflow", side_overflowed, "keep the side value in a wider format",
     "overflowed a side value"},
    {"ND412", "mismatch", "cast-convention", other_convention,
     "cast with the same saturation rule and format", "follows another convention for this cast"},
    {"ND107", "underflow", "constant-underflow", constant_vanished, "keep the constant in fp32",
     "uses a constant that became zero"},
    {"ND103", "overflow", "cast-overflow", cast_overflowed,
     "scale before the cast, or cast to a wider format", "cast values beyond the range of the format"},
    {"ND111", "saturation", "cast-overflow", cut_down, "scale before the cast, or cast to a wider format",
     "cuts most of its values at the maximum of the format"},
    {"ND104", "overflow", "op-overflow", op_overflowed, run_wider, "overflowed inside the op"},
    {"ND106", "underflow", "loss-scale", unscaled_gradients,
     "repeat the step with a loss scale of 1024 or more", "lost gradients to zero for want of a loss scale"},
    {"ND108", "underflow", "cast-underflow", vanished, "scale before the cast", "cast small values to zero"},
    {"ND109", "underflow", "op-underflow", vanished, run_wider, "lost small results to zero"},

    // scaling
    {"ND301", "nan", "zero-scale", zero_scales, "give the scale a floor", "divided by a scale of zero"},
    {"ND311", "underflow", "scale-out-of-range", hinted_beyond,
     "keep the scale in fp32 or bound it by its format", "has a scale that became zero in its format"},
    {"ND303", "saturation", "stale-scale", stale, "compute the scale from this tensor's own amax",
     "used a scale that does not fit this tensor's amax"},
    {"ND304", "saturation", "uncalibrated-scale", uncalibrated, "calibrate the scale",
     "used a scale that was never set"},
    {"ND306", "factor", "scale-direction", scale_inverted, "swap encode and decode scale",
     "uses its scale the wrong way round"},
    {"ND307", "mismatch", "scale-index", scale_regrouped, "decode group by group on the host",
     "uses scales of other groups"},
    {"ND305", "factor", "scale-mismatch", other_scale, "decode with the scale that encoded",
     "decodes with another scale than encoded"},
    {"ND308", "underflow", "scale-granularity", hinted, "give each group its own scale",
     "spans groups of very different size with one scale"},
    {"ND309", "saturation", "stale-scale", clipped, "compute the scale from this tensor's own amax",
     "cuts values that its scale cannot hold"},
    {"ND310", "nan", "nan-dropped", hinted_beyond, "count non-finite values before the op",
     "hides a non-finite value"},

    // ranks
    {"ND612", "invariant", "collective-mismatch", groups_differ,
     "print operation, count and format on every rank of the group",
     "is not called alike by the ranks of its group"},
    {"ND601", "invariant", "missing-reduction", hinted, "reduce over the group and compare again",
     "passes on partial sums as if they were reduced"},
    {"ND602", "factor", "duplicate-reduction", repeated_reduction, "leave the second reduction out",
     "reduces data that were reduced already"},
    {"ND604", "factor", "wrong-divisor", divided_by_group, "divide by the number of ranks that hold a share",
     "is off by the size of its group"},
    {"ND605", "mismatch", "low-precision-communication", hinted_beyond, "repeat with an fp32 wire format",
     "loses bits or range on the wire"},
    {"ND611", "mismatch", "shard-mismatch", swapped, "print the two elements on both ranks",
     "holds elements of two ranks in each other's places"},
    {"ND606", "mismatch", "shard-mismatch", wrong_shard,
     "print the index range that each rank holds and reads", "reads another part than its rank should"},
    {"ND608", "invariant", "missing-reduction", terms_of_reference, "reduce over the group and compare again",
     "holds partial sums where every rank must hold the whole"},
    {"ND607", "invariant", "replica-divergence", diverged_replica,
     "broadcast from one rank and compare again", "differs between ranks that must agree"},

    // rounding
    {"ND401", "bias", "truncating-cast", hinted_beyond, "round to nearest even", "cuts instead of rounding"},
    {"ND402", "lost-update", "lost-update", lost_step, "keep a master copy in fp32",
     "makes steps below half an ulp of the state"},
    {"ND413", "invariant", "cancellation", impossible, "compute the difference before squaring (two passes)",
     "makes a value that cannot be"},
    {"ND414", "invariant", "rounding-order", impossible, "round both copies at the same place",
     "makes a value that cannot be"},
    {"ND403", "mismatch", "cancellation", cancels, "compute the difference before squaring (two passes)",
     "subtracts nearly equal numbers"},
    {"ND404", "mismatch", "unrepresentable-integer", rounded_integers,
     "keep positions and counters in fp32 or integers", "holds integers that its format cannot tell apart"},
    {"ND405", "bias", "narrow-accumulator", hinted_beyond, "promote the accumulator more often",
     "cuts products before it adds them"},
    {"ND406", "mismatch", "low-precision-partials", hinted_beyond, "keep partial sums in fp32",
     "rounds partial sums"},
    {"ND415", "bias", "low-precision-accumulate", hinted_one_sided, "accumulate in fp32",
     "loses addends to its accumulator"},
    {"ND407", "mismatch", "low-precision-accumulate", hinted_beyond, "accumulate in fp32",
     "accumulates in fewer bits than it says"},
    {"ND408", "mismatch", "reduced-input-precision", hinted_beyond,
     "turn TF32 and reduced-precision passes off", "rounds its inputs to fewer bits than their format has"},
    {"ND409", "mismatch", "double-rounding", hinted_beyond, "cast in one step",
     "rounds through a third format"},
    {"ND410", "mismatch", "rounding-order", hinted_beyond, "round at the same place",
     "rounds at another place"},
    {"ND411", "noise", "stochastic-rounding", hinted_beyond, "fix the seed, or round to nearest",
     "rounds stochastically"},

    // factors
    {"ND501", "factor", "factor-missing", hinted_beyond, "apply the factor once", "lacks a factor"},
    {"ND502", "factor", "factor-repeated", hinted_beyond, "apply the factor once", "applies a factor twice"},
    {"ND503", "factor", "wrong-divisor", hinted_beyond, "divide by the right count",
     "divides by the wrong count"},
    {"ND504", "factor", "wrong-weighting", hinted_beyond, "weigh by elements",
     "weighs ranks instead of elements"},
    {"ND506", "factor", "factor-repeated", again, "apply the factor once",
     "applies a factor that an earlier op applied already"},
    {"ND507", "factor", "setting-differs", other_factor, "run both with the same factor",
     "multiplies by another factor than the reference"},
    {"ND505", "factor", "open", any_factor, "look for a factor that is missing or applied twice",
     "is off by a common factor"},

    // memory and runs
    {"ND701", "mismatch", "recompute-mismatch", recomputes_otherwise, "store instead of recomputing",
     "recomputes another value"},
    {"ND702", "mismatch", "storage-corruption", changed_between, "capture the tensor right before this op",
     "reads a tensor that changed with no op between"},
    {"ND801", "mismatch", "input-differs", other_input,
     "start both runs from the same inputs, weights and seeds",
     "starts from another tensor than the reference"},
    {"ND802", "mismatch", "constant-precision", constant_rounded, "give the constant the same precision",
     "uses a constant of another precision"},
    {"ND803", "mismatch", "setting-differs", other_setting, "run both with the same setting",
     "uses another constant than the reference"},
    {"ND804", "structure", "structure-differs", other_structure, "",
     "has another shape than in the reference"},

    // open
    {"ND907", "invariant", "open", breaks_invariant, "capture this op at level tensors",
     "breaks a rule that holds in any precision"},
    {"ND908", "mismatch", "open", beyond_noise, run_wider,
     "is farther from the reference than good runs are"},
    {"ND901", "nan", "open", made_nan, run_wider, "makes non-finite values from finite inputs"},
    {"ND902", "bias", "open", one_sided, run_wider, "is off to one side by more than its formats explain"},
    {"ND903", "mismatch", "open", beyond_replay, run_wider, "is off by more than its formats explain"},
    {"ND904", "factor", "open", far_factor, "look for a factor that is missing or applied twice",
     "differs from the reference by a common factor"},
    {"ND905", "mismatch", "open", beyond_distance, "capture this op at level tensors",
     "is farther from the reference than its inputs and formats explain"},

    // stated by the walk over both runs
    {"ND192", "nan", "open", nullptr, run_wider, "makes non-finite values from finite inputs", true},
    {"ND193", "underflow", "cast-underflow", nullptr, "", "casts small values to zero", true},
    {"ND198", "underflow", "op-underflow", nullptr, "", "makes small results zero", true},
    {"ND199", "saturation", "cast-overflow", nullptr, "", "cuts values at the maximum of their format", true},
    {"ND188", "saturation", "stale-scale", nullptr, "", "cuts values that its scale cannot hold", true},
    {"ND189", "lost-update", "lost-update", nullptr, "", "leaves a state unchanged", true},
    {"ND197", "nan", "nan-dropped", nullptr, "", "reads non-finite values and writes none", true},
    {"ND808", "noise", "nondeterministic", nullptr, "fix the order of sums, the seeds and the algorithms",
     "and others differ between executions of one program", true},
    {"ND194", "noise", "expected-rounding", nullptr, "", "and others differ by what their formats predict",
     true},
    {"ND195", "noise", "expected-quantization", nullptr, "",
     "and others differ by what format and scaling predict", true},
    {"ND196", "noise", "reduction-order", nullptr, "", "and others differ by the order of their sums", true},
    {"ND806", "noise", "decision-flip", nullptr, "compare the choice on the inputs of one run",
     "chooses otherwise within the error of what it reads", true},
    {"ND807", "noise", "nondeterministic", nullptr, "run it with deterministic kernels",
     "and others give other bits when they run again on the same inputs", true},
    {"ND805", "structure", "structure-differs", nullptr, "", "has no partner", true},
    {"ND851", "slow", "cast-overhead", nullptr, "fuse the casts into the ops before, or cast weights once",
     "gains less from its format than the casts for it take", true},
    {"ND852", "slow", "shape-unfit", nullptr, "pad the product's sizes to whole 16 bytes and time it again",
     "has rows that are no multiple of what tensor cores read", true},
    {"ND853", "slow", "launch-bound", nullptr, "time the same product with all sizes eight times as large",
     "is over before its launch pays", true},
    {"ND854", "slow", "open", nullptr,
     "look up which kernel ran, and compare its rate with the device's roof",
     "is no faster in the narrower format", true},
    {"ND906", "mismatch", "open", nullptr, "capture the ops before it",
     "differs from the reference; the op that made it so was not captured"},
};

}  // namespace

std::span<const rule> rules() {
  return table;
}

const rule& rule_of(std::string_view id) {
  for (const rule& r : table)
    if (r.id == id) return r;
  throw std::out_of_range("no rule " + std::string(id));
}

finding stated(std::string_view id, place where, std::uint64_t order) {
  const rule& r = rule_of(id);
  finding f;
  f.where = std::move(where);
  f.rule = r.id;
  f.symptom = r.symptom;
  f.cause = r.cause;
  f.message = r.message;
  f.control = r.control;
  f.benign = r.benign;
  f.order = order;
  return f;
}

const rule* decide(const evidence& e, std::vector<const rule*>& others) {
  const rule* first = nullptr;
  others.clear();
  for (const rule& r : table) {
    if (r.when == nullptr || !r.when(e, r)) continue;
    if (first == nullptr)
      first = &r;
    else
      others.push_back(&r);
  }
  return first;
}

}  // namespace numdiff::analysis

#pragma once
// Rules as data: which evidence makes which symptom and cause, and what would confirm it.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/addends.hpp"
#include "analysis/chain.hpp"
#include "analysis/comparison.hpp"
#include "analysis/expect/replay.hpp"
#include "analysis/invariants.hpp"
#include "analysis/locate.hpp"
#include "analysis/merge.hpp"

namespace numdiff::analysis {

// How a source (a read that no op wrote) stands against its partner.
enum class source_state {
  none,
  agrees,
  differs,
  rounded_integers,
  permuted,
  reinterpreted,
  rescaled,
  vanished
};

// How a tensor of a recomputation stands against that of the forward pass.
enum class recomputed_state {
  none,     // not recomputed, equal, or explained by what it reads
  repeats,  // other bits from the same inputs, within what an honest execution makes
  differs,
};

// How scales differ from those that the same codes were written with.
enum class rescaling { none, other, inverse, regrouped };

// What is known about one capture of one run when the rules are asked.
struct evidence {
  side seen_in = side::test;
  std::string_view kind;
  std::string_view op_name;
  numdiff::phase phase = numdiff::phase::none;
  numdiff::role role = numdiff::role::none;
  bool written = false;
  bool skipped_step = false;
  bool feeds_softmax = false;
  bool is_scale = false;    // views of later tensors have it for scales
  bool feeds_root = false;  // a root of it is taken, or it divides
  dtype type = dtype::unknown;
  dtype partner_type = dtype::unknown;
  const merged_capture* own = nullptr;
  const merged_capture* partner = nullptr;  // of the other run, nullptr none

  // replay of the op from its own inputs
  bool replayed = false;
  const judgement* local = nullptr;  // of this capture, nullptr: not judged
  const judgement* partner_local = nullptr;

  // counted before casts and of scales, over ranks
  std::int64_t cast_count = 0, cast_beyond = 0, cast_overflowing = 0, cast_flushed = 0, cast_nan = 0;
  double cast_headroom = 0;  // largest source value over the largest that the scale can hold, 0 not known
  bool follows_step_before = false;  // a delayed scale, and a spike that it may meet
  std::int64_t scales_zero = 0, scales_nonfinite = 0;
  bool scale_is_one = false;    // the one scale of the tensor is exactly 1
  bool other_overflow = false;  // one run saturates exactly what is not finite in the other, in one format

  // flow of data within the run
  analysis::gap gap = analysis::gap::none;
  source_state source = source_state::none;
  analysis::rescaling rescaled = rescaling::none;  // an earlier op wrote these codes under other scales
  bool nonfinite_created = false;                  // the op's inputs hold none
  bool masked_rows = false;   // in an op without replay, rows that its mask empties are NaN
  bool merges_empty = false;  // NaN from at least two inputs that hold -inf and nothing worse
  bool scaled_reads = false;  // the op reads codes with scales
  bool hides_inputs = false;  // a view of an input hides elements
  bool divides_by_zero = false;
  bool adds_masks = false;     // adds a tensor of zeros and of the most negative number of its format
  bool beside_result = false;  // the op writes a larger tensor too, and that one is finite
  bool unmoved = false;        // a step that moved this state in the other run left it as it was
  bool lost = false;           // most of it became zero or the maximum in this run only, from the same inputs
  std::int32_t unequal_replica = -1;
  std::int32_t partner_unequal_replica = -1;
  bool read_terms = false;  // unequal replicas that their writer called terms of a reduction
  addends_result adds_up;   // unequal replicas whose sum or mean is what the partner holds
  distances changed;        // of a read with a gap: from what its writer wrote
  recomputed_state recomputed = recomputed_state::none;
  distances from_forward;  // of a recomputed tensor: from the one of the forward pass
  std::optional<invariant> broken;

  // collectives
  bool collective = false;
  bool averages = false;
  std::int64_t group_size = 0, world_size = 0;
  std::optional<invariant> group_broken;  // its ranks do not call it alike
  bool reduces_twice = false;  // every rank brings what a reduction of this group already made equal

  // between the runs
  distances apart;
  double apart_limit = 0;  // relative distance above which no honest op gets; 0 not known
  double noise_limit = 0;  // relative distance of good runs, when this capture is farther apart; 0 it is not
  bool scalar_differs = false;
  double scalar = 0, partner_scalar = 0;
  bool scalar_factor = false;    // the scalar multiplies the result
  bool factor_upstream = false;  // an earlier op applied the factor by which this one is off
  bool scalar_rounded = false;   // one run's scalar is the other's, rounded to a format of the op
  located culprits;              // whose parts are farther off than others, of this run's ranks
  located other_culprits;        // of the other run's, where this run has one rank
  bool structure = false;        // shapes or element counts that no placement reconciles
};

struct rule {
  const char* id;
  const char* symptom;
  const char* cause;
  bool (*when)(const evidence&, const rule&);  // nullptr: stated by the walk over both runs, not by decide()
  const char* control;
  const char* message;  // a sentence about the op
  bool benign = false;
};

// Most specific first.
std::span<const rule> rules();

// Throws std::out_of_range for an id that is not in the table.
const rule& rule_of(std::string_view id);

// A finding of a rule that the walk states, without evidence yet.
finding stated(std::string_view id, place where, std::uint64_t order);

// The most specific rule that fires, nullptr when none does; `others` receives the rest.
const rule* decide(const evidence& e, std::vector<const rule*>& others);

// The named numbers behind a finding.
evidence_list numbers_of(const evidence& e);

}  // namespace numdiff::analysis

#pragma once
// Replays an op from its own stored inputs and judges its stored outputs: is the difference what an
// honest execution in these formats makes? The kinds and their formulas stand in docs/numerics.md.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/expect/tensor.hpp"
#include "analysis/verdict.hpp"
#include "model/run.hpp"

namespace numdiff::analysis {

// A captured tensor of an op with the texts of its row.
struct operand {
  const model::capture_row* row = nullptr;
  std::string_view name;
  const model::cast_row* cast = nullptr;  // of a destination captured by NUMDIFF_CAST
  std::string_view scaling;               // JSON, "" none
  tensor value;
  // Of collectives, where told: the element of the whole tensor that each element is, -1 for padding, and how
  // many that tensor has.
  std::vector<std::int64_t> places;
  std::int64_t whole = 0;
};

// One execution of an op on one rank. `reads` are the captures with role input, weight, scale and
// state before, in capture order; `writes` those with role output, gradient, accumulate and state
// after (name ends in ".new").
struct op_instance {
  const model::op_row* row = nullptr;
  std::string_view kind;
  std::vector<operand> reads, writes;
  std::map<std::string, double, std::less<>> scalars;
};

// The answer for one written tensor. Errors are stored - replayed, in decoded units.
struct judgement {
  std::size_t rank = 0;                 // of collectives: its place in the group
  std::size_t write = 0;                // index into op_instance::writes
  verdict v = verdict::undecided;       // within, beyond or undecided
  double observed = 0;                  // rms error
  double expected = 0;                  // rms error of an honest execution
  double ratio = 0;                     // observed / expected; 0 when both vanish
  double limit = 0;                     // ratio above which the answer is beyond
  double effective_count = 0;           // (sum s^2)^2 / sum s^4 over the expected errors s
  double worst_absolute = 0;            // largest error
  double worst_ulp = 0;                 // the same in ulps of the output format there
  std::int64_t worst_index = -1;        // row-major index of it, -1 none
  double bias = 0;                      // mean of error * sign(value) over the rms error: -1 all toward zero
  double bias_z = 0;                    // the same in standard errors
  double factor = 1;                    // c that minimises |stored - c * replayed|
  double factor_residual = 0;           // rms of what remains, over `expected`
  std::int64_t nonfinite_created = 0;   // not finite although the replay fits the output format
  std::int64_t nonfinite_replayed = 0;  // not finite as the replay says it must be
  std::int64_t flushed = 0;             // zero although the replay is not
  std::int64_t saturated = 0;           // at the largest finite value of the format, replay beyond it
  int choice = 0;                       // of the meanings that shapes leave open, the one that was written
  double outgrown = 0;                  // beyond for this alone: largest value over what its scale reaches
  std::vector<std::pair<std::string, double>> evidence;
  std::string
      accumulator;  // of products: what made the stored bits in place of the declared one, "" not told
  bool finite_over = false;  // finite elements alone are beyond
  std::string finite_hint;   // the cause of these, where non-finite ones have another
  std::string cause_hint;    // a cause of docs/causes.md, "" when no hypothesis explains the error
  std::string reason;        // one clause for people
};

struct replayed {
  bool done = false;
  std::string why_not;  // set when not done: unknown kind, values not stored, shapes that do not fit
  std::vector<judgement> outputs;
};

// False for kinds that replay knows nothing of; their values need not be read.
bool replays(std::string_view kind) noexcept;

// Ops of one rank. Never throws: what cannot be replayed says why.
replayed replay(const op_instance& op);

// One instance per rank of the group, in group order; one judgement for each write of a rank. `peer` of the
// row is the root's place in the group.
replayed replay_collective(const model::collective_row& c, std::span<const op_instance> group);

}  // namespace numdiff::analysis

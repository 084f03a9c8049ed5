#pragma once
// Which op of the test is which op of the reference.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/index.hpp"

namespace numdiff::analysis {

enum class fate {
  matched,
  auxiliary,   // no partner needed: judged by its own input and output
  bridged,     // judged by the parts, or as the parts, of what the other run fuses
  ambiguous,   // several partners fit equally well
  only_there,  // no partner
};

struct op_pair {
  std::int32_t reference = -1;  // index into run_index::ops(), -1 none
  std::int32_t test = -1;
  analysis::fate fate = fate::matched;
  bool selected = true;
};

struct capture_pair {
  std::int32_t reference = -1;  // index into run_index::captures(), -1 none
  std::int32_t test = -1;
};

// Every op of both runs once, in execution order: that of the test; ops of the reference alone stand
// behind their matched predecessor. Ops outside the optimizer are aligned by step; those of the
// optimizer by update when a run skipped steps. Calls of one name whose numbers differ are aligned as
// sequences by kind, shapes, dtypes and digests; what remains ambiguous is left apart.
std::vector<op_pair> align(const run_index& reference, const run_index& test);

// The captures of a matched pair (or of one op): by role, name, usage and ordinal; what is left by role
// and order where shapes fit.
std::vector<capture_pair> align_captures(const run_index& reference, const run_index& test,
                                         const op_pair& pair);

// Casts, layout changes, scales, maxima, collectives: ops that one run may have and the other not.
bool is_auxiliary(std::string_view kind, phase p) noexcept;
bool is_collective(std::string_view kind) noexcept;

}  // namespace numdiff::analysis

#pragma once
// Which cause explains an output: each is tried on the stored values and named only when what
// remains after it is what an honest execution leaves.
#include <cstdint>

#include "analysis/expect/judge.hpp"

namespace numdiff::analysis::expect {

// Of an output beyond its expectation: sets cause_hint and adds the evidence of the winner.
void explain(const op_instance& op, const expectation& honest, const output_format& format, defect why,
             std::int64_t hidden, judgement& j);

// Whether every element is one of the two neighbours of its exact result, chosen at random with the chances
// of stochastic rounding.
void explain_stochastic(const operand& out, const expectation& honest, const output_format& format,
                        judgement& j);

// Of an output within it: information that an honest format lost all the same (underflow, unchanged states).
void explain_loss(const op_instance& op, const expectation& honest, judgement& j);

// How much of a stored output a candidate explains.
struct fit {
  double residual = 0;  // rms of stored - round(candidate), over the rms expected of an honest execution
  double bits = 0;      // by how much agreeing elements tell the candidate from the honest result, in all
  double agree = 0;     // share of the elements where candidate and honest result round apart and
                        // the stored value is the candidate's
  std::int64_t apart = 0;
};
[[nodiscard]] fit fit_of(const operand& out, const expectation& honest, const output_format& format,
                         const std::vector<double>& candidate, rounding mode);

}  // namespace numdiff::analysis::expect

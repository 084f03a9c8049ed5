#pragma once
// Scales that a kernel used the wrong way round, or that it took from other groups.
#include <functional>
#include <string>
#include <vector>

#include "analysis/expect/replay.hpp"

namespace numdiff::analysis::expect {

struct scale_misuse {
  std::string cause;  // a name of docs/causes.md
  std::string form;   // for people
  // Per element: the decode scale that was used over the right one. Empty: these scales tell nothing.
  std::function<std::vector<double>()> ratio;
};

// What can be told apart on this tensor; nothing when it has no scales. The operand outlives the result.
[[nodiscard]] std::vector<scale_misuse> scale_misuses(const operand& x);

// The operand as a kernel with this misuse decodes it; no values where the scales tell nothing.
[[nodiscard]] tensor misread(const operand& x, const scale_misuse& how);

}  // namespace numdiff::analysis::expect

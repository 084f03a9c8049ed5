#pragma once
// What a comparison says about one capture.

namespace numdiff::analysis {

enum class verdict {
  equal,           // the same digest on both sides
  within,          // differs by no more than an honest execution would
  beyond,          // differs by more
  undecided,       // the recorded data do not decide
  not_comparable,  // nothing to compare on one side
};

}  // namespace numdiff::analysis

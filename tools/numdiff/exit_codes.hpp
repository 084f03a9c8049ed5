#pragma once
// What the program's exit status says. Scripts rely on it: never renumber.
#include "analysis/comparison.hpp"

namespace numdiff::program {

enum class exit_code : int {
  agree = 0,       // everything was compared, and no difference is above what its formats explain
  differ = 1,      // at least one difference is; outranks incomplete
  trouble = 2,     // usage, or a file that cannot be read or written: there is no answer
  incomplete = 3,  // what was compared agrees, but not everything was compared
};

constexpr exit_code code_of(analysis::outcome verdict) noexcept {
  return verdict == analysis::outcome::agree    ? exit_code::agree
         : verdict == analysis::outcome::differ ? exit_code::differ
                                                : exit_code::incomplete;
}

}  // namespace numdiff::program

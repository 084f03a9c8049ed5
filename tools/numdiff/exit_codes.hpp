#pragma once
// What the program's exit status says. Scripts rely on it: never renumber.

namespace numdiff::program {

enum class exit_code : int {
  agree = 0,       // everything was compared, and no difference is above what its formats explain
  differ = 1,      // at least one difference is; outranks incomplete
  trouble = 2,     // usage, or a file that cannot be read or written: there is no answer
  incomplete = 3,  // what was compared agrees, but not everything was compared
};

}  // namespace numdiff::program

#pragma once
// The processes of `mpirun -n N numdiff ...`, which read the rank files of a run together.
#include <memory>

#include "store/team.hpp"

namespace numdiff::program {

// Whether a launcher of several processes started this one. It gives them terminals of its own, which say
// nothing about where their output goes.
bool is_launched() noexcept;

// Nothing when this process was started alone. Throws std::runtime_error when it was started by mpirun and
// was built without MPI.
std::unique_ptr<store::team> launched_team();

// Whether another process of a team has the word: the first one reads the answers and prints.
inline bool is_helper(const store::team* team) noexcept {
  return team != nullptr && team->number() > 0;
}

}  // namespace numdiff::program

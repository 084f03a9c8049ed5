#pragma once
// The boundary to the module that knows MPI: the program itself does not, and starts where there is none.
#include <cstddef>

#include "store/team.hpp"

namespace numdiff::program {

inline constexpr const char* open_team_name = "numdiff_open_team";
// The caller owns the result. Nothing is said to MPI before the first message.
using open_team_function = store::team*(std::size_t number, std::size_t size);

}  // namespace numdiff::program

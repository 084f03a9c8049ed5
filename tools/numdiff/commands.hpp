#pragma once
// One function a command. Each throws std::exception with one sentence when there is no answer. Helpers of a
// team answer nothing.
#include <optional>

#include "arguments.hpp"
#include "exit_codes.hpp"
#include "store/team.hpp"

namespace numdiff::program {

exit_code compare(const arguments& args, store::team* team);
// The same for two files of arrays; nothing when they are runs.
std::optional<exit_code> compare_arrays(const arguments& args, const store::team* team);
exit_code check(const arguments& args, store::team* team);
exit_code drift(const arguments& args, store::team* team);
exit_code envelope(const arguments& args, store::team* team);
exit_code show(const arguments& args);
exit_code repair(const arguments& args);
exit_code views(const arguments& args);
exit_code explain(const arguments& args);

}  // namespace numdiff::program

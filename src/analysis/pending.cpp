// Stands in while no replay is built: every op is left undecided.
#include <stdexcept>

#include "analysis/expect/decode.hpp"
#include "analysis/expect/replay.hpp"

namespace numdiff::analysis {

replayed replay(const op_instance&) {
  return {false, "no replay in this build", {}};
}
replayed replay_collective(const model::collective_row&, std::span<const op_instance>) {
  return {false, "no replay in this build", {}};
}
tensor decode(const model::rank_data&, const model::capture_row&) {
  throw std::runtime_error("no replay in this build");
}

}  // namespace numdiff::analysis

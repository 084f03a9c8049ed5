#pragma once
// The index of a run of several ranks: `run.h5` names its rank files. Its content depends on run_id,
// world size and name only, so that any rank may write it.
#include <cstdint>
#include <string>
#include <vector>

namespace numdiff::store {

inline constexpr std::size_t index_name_bytes = 256;
inline constexpr std::size_t run_id_bytes = 256;

struct run_index {
  std::string run_id;
  std::int32_t world_size = 0;
  std::vector<std::string> files;  // plain names, by rank
};

// Writes the index when it is not there yet. Rank 0 replaces an index of another run (which becomes `.old`);
// other ranks write only where there is none. Throws store::error.
void write_index(const std::string& path, const std::string& run_id, std::int32_t world_size,
                 std::int32_t rank);

// True for an index, false for any other run file. Both throw store::error for what is no run.
bool is_index(const std::string& path);
run_index read_index(const std::string& path);

}  // namespace numdiff::store

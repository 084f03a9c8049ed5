#pragma once
// Rank files, many at a time: in child processes, and by a team of processes.
#include <span>
#include <string>
#include <vector>

#include "model/run.hpp"
#include "store/load.hpp"

namespace numdiff::store {

struct rank_file_content {
  model::rank_data rank;
  std::string warning;  // one sentence, "" none
};

// By place in `paths`; empty in other processes than the first of a team. Throws what the first file that
// cannot be read throws.
std::vector<rank_file_content> read_rank_files(std::span<const std::string> paths, const load_options& how);

// In another process than the first of a team: tells that one that nothing comes, and why.
void tell_failure(team& others, const std::exception& problem);
// In the first: takes in and throws away what the others send, before an exception of its own goes on.
void drain(team& others);

}  // namespace numdiff::store

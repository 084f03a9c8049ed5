#pragma once
// The messages of a `.tail` file.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/intake.hpp"

namespace numdiff::store {

struct tail_snapshot {
  std::string run_id;
  std::int32_t rank = 0;
  std::vector<std::uint64_t> messages;  // whole messages one after another, 8-byte aligned
  std::uint64_t damaged = 0;            // reserved and never finished, or damaged on disk
};

// Copies what lies between the read and the write position. Nothing when there is no tail; throws
// store::error for a file that is no tail. Taken before the run file is read, it and the file have
// no gap between them, also while the program runs.
std::optional<tail_snapshot> read_tail(const std::string& path);

// Gives `into` the messages newer than `last_id`; their number and the newest id.
struct taken_tail {
  std::uint64_t messages = 0;
  std::uint64_t last_id = 0;
};
taken_tail take_tail(const tail_snapshot& tail, std::uint64_t last_id, intake& into);

}  // namespace numdiff::store

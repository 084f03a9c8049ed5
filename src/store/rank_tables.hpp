#pragma once
// The committed rows of one rank file, with the messages of its tail behind them.
#include <cstdint>
#include <memory>
#include <string>

#include "model/run.hpp"
#include "store/batch.hpp"
#include "store/payload.hpp"

namespace numdiff::store {

struct rank_tables {
  batch rows;      // payload left in the file
  lengths length;  // of file and tail
  std::uint64_t last_id = 0;
  model::drop_counts drops;
  std::uint64_t unknown = 0;
  std::uint64_t cut_rows = 0;  // ops and captures behind the newest commit that no tail has
  bool has_tail = false;       // messages of a tail were taken in
  bool in_writing = false;     // not closed: its writer lives, or was killed
  std::string tail_problem;    // one sentence when a tail was there and could not be used
  std::shared_ptr<payload_reader> payload;
};

// Reads `path` and, where there is one, `path`.tail; the tail alone when the file's birth was cut.
// Throws store::error.
rank_tables read_rank(const std::string& path);

// What analysis sees. Every offset and number is checked; throws store::error for what points
// outside its table.
model::rank_data to_rank(rank_tables&& tables, const std::string& path);

}  // namespace numdiff::store

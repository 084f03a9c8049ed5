#pragma once
// The committed rows of one rank file, with the messages of its tail behind them.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/run.hpp"
#include "store/batch.hpp"
#include "store/stored_rows.hpp"

namespace numdiff::store {

struct rank_tables {
  batch rows;           // of file and tail; without payload; sketches of the tail alone where they are left
  row_places sketches;  // of the file, where they are left
  std::array<row_places, dtype_count> payload;                     // of the file
  std::array<std::vector<std::byte>, dtype_count> payload_behind;  // of the tail
  std::shared_ptr<const stored_file> file;
  lengths length;  // of file and tail
  std::uint64_t last_id = 0;
  model::drop_counts drops;
  std::uint64_t unknown = 0;
  std::uint64_t cut_rows = 0;  // ops and captures behind the newest commit that no tail has
  bool has_tail = false;       // messages of a tail were taken in
  bool in_writing = false;     // not closed: its writer lives, or was killed
  std::string tail_problem;    // one sentence when a tail was there and could not be used
};

// Sketches are most of a file's rows: what is compared by digest needs none of them.
enum class sketches_are : std::uint8_t { left, read };

// Reads `path` and, where there is one, `path`.tail; the tail alone when the file's birth was cut.
// Throws store::error.
rank_tables read_rank(const std::string& path, sketches_are how = sketches_are::left);

// What analysis sees. Every offset and number is checked; throws store::error for what points
// outside its table.
model::rank_data to_rank(rank_tables&& tables, const std::string& path);

}  // namespace numdiff::store

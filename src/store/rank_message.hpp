#pragma once
// A rank as bytes, for another process of this program: its rows, and where its payload and sketches lie.
#include "model/run.hpp"
#include "store/message_bytes.hpp"

namespace numdiff::store {

// `rank` is one of to_rank or take_rank.
void put_rank(byte_writer& out, const model::rank_data& rank);
model::rank_data take_rank(byte_reader& in);

}  // namespace numdiff::store

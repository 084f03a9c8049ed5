#pragma once
// Pieces of a capture that were observed apart (NUMDIFF_SHARDS), from the extra that keeps them.
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/run.hpp"
#include "model/sketch.hpp"

namespace numdiff::model {

struct piece {
  std::vector<std::array<std::int64_t, 2>> box;  // [begin, end) in the global tensor
  std::array<std::uint64_t, 2> digest{};
  std::optional<model::sketch> sketch;
};

// Of the capture with that seq; empty when it kept none, or when they cannot be read.
std::vector<piece> pieces_of(const rank_data& rank, std::uint64_t capture);

}  // namespace numdiff::model

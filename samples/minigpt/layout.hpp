#pragma once
// Where a rank's part of a tensor lies: along each axis of the mesh, and which tokens its rows are.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "numdiff/placement.hpp"
#include "ranks.hpp"

namespace minigpt {

using shape = std::vector<std::int64_t>;

// How a tensor lies on one axis of the mesh.
struct spread {
  // whole: the axis has one rank, or none knows the tensor; partial: addends; average: to be averaged.
  enum kind { whole, replicated, sharded, partial, average };
  kind how = whole;
  int dimension = 0;  // of a sharded tensor
};

// Some positions of some sequences, and of those the rows [first_row, first_row + count): what a rank holds
// of the rows of a tensor [tokens, width]. `pieces` says the same as stretches of all rows.
struct token_rows {
  std::int64_t first_sequence = 0, sequences = 0, all_sequences = 0;
  std::int64_t length = 0;                  // of a sequence
  std::vector<numdiff::segment> positions;  // of each sequence
  std::vector<numdiff::segment> pieces;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t all() const { return all_sequences * length; }
  [[nodiscard]] std::int64_t positions_held() const {
    return positions.back().local_begin + positions.back().length;
  }
  [[nodiscard]] std::vector<std::int64_t> ids() const;  // the token of each row
};
using rows_ptr = std::shared_ptr<const token_rows>;

// Rows [part, parts) of an even split of all rows of these positions.
rows_ptr make_rows(std::int64_t first_sequence, std::int64_t sequences, std::int64_t all_sequences,
                   std::int64_t length, std::vector<numdiff::segment> positions, std::int64_t parts = 1,
                   std::int64_t part = 0);

// A flat piece of a tensor of shape `whole`.
struct flat_piece {
  shape whole;
  std::vector<numdiff::segment> segments;
};

// Indices of a dimension one by one.
struct index_list {
  std::vector<std::int64_t> list;
  std::int64_t all;  // extent of the whole dimension
};

struct placement {
  std::array<spread, axes> on;
  rows_ptr rows;                           // what its tokens are
  int rows_dimension = 0;                  // where they lie
  std::shared_ptr<const index_list> ids;   // instead of rows: tokens one by one
  std::shared_ptr<const flat_piece> flat;  // instead of all dimensions

  [[nodiscard]] spread& operator[](axis a) { return on[static_cast<std::size_t>(a)]; }
  [[nodiscard]] const spread& operator[](axis a) const { return on[static_cast<std::size_t>(a)]; }
};

}  // namespace minigpt

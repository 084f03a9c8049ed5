#include "layout.hpp"

#include "numdiff/ranges.hpp"

namespace minigpt {
namespace {

// Rows that follow each other in the whole are one piece.
void add_piece(token_rows& r, std::int64_t begin, std::int64_t length) {
  if (length == 0) return;
  if (!r.pieces.empty() && r.pieces.back().global_begin + r.pieces.back().length == begin)
    r.pieces.back().length += length;
  else
    r.pieces.push_back({begin, r.count, length});
  r.count += length;
}

}  // namespace

rows_ptr make_rows(std::int64_t first_sequence, std::int64_t sequences, std::int64_t all_sequences,
                   std::int64_t length, std::vector<numdiff::segment> positions, std::int64_t parts,
                   std::int64_t part) {
  token_rows r{first_sequence, sequences, all_sequences, length, std::move(positions), {}, 0};
  const std::int64_t all = sequences * r.positions_held();
  const std::int64_t begin = numdiff::part_begin(all, parts, part);
  const std::int64_t end = numdiff::part_begin(all, parts, part + 1);
  std::int64_t row = 0;
  for (std::int64_t s = first_sequence; s < first_sequence + sequences; ++s)
    for (const numdiff::segment& p : r.positions) {
      const numdiff::segment held = numdiff::overlap(row, p.length, begin, end);
      add_piece(r, s * length + p.global_begin + held.global_begin, held.length);
      row += p.length;
    }
  return std::make_shared<const token_rows>(std::move(r));
}

std::vector<std::int64_t> token_rows::ids() const {
  std::vector<std::int64_t> all;
  for (const numdiff::segment& p : pieces)
    for (std::int64_t i = 0; i < p.length; ++i) all.push_back(p.global_begin + i);
  return all;
}

}  // namespace minigpt

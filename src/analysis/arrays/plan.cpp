#include "analysis/arrays/plan.hpp"

#include <algorithm>

namespace numdiff::analysis {

namespace {

using model::array_layout;
using model::extents;

// Chunks of a side and boxes are held by two threads at most; together they stay below 256 MiB.
constexpr std::uint64_t small_box = 256 << 10, box = 1 << 20, large_box = 32 << 20, two_threads = 24 << 20;
constexpr std::uint64_t texts_of_a_box = 4096;

// As many elements as fit, in the order of `shape`, the last dimension first; the others get 1.
extents fitting(const extents& shape, std::uint64_t elements) {
  extents cell(shape.size(), 1);
  std::uint64_t room = std::max<std::uint64_t>(elements, 1);
  for (std::size_t d = shape.size(); d-- > 0;) {
    cell[d] = std::clamp<std::uint64_t>(room, 1, std::max<std::uint64_t>(shape[d], 1));
    room /= cell[d];
    if (cell[d] < shape[d]) break;
  }
  return cell;
}

// Whether boxes of `bytes` cut across several chunks of a side, which are then unpacked again for each box.
bool cuts_chunks(const extents& cell, const extents& chunk, std::uint64_t element_bytes,
                 std::uint64_t bytes) {
  if (chunk.empty()) return false;
  std::uint64_t size = element_bytes;
  for (const std::uint64_t extent : cell) size *= extent;
  bool several = false;
  for (std::size_t d = 0; d < cell.size(); ++d) several = several || chunk[d] < cell[d];
  return several && size > bytes;
}

extents reversed(extents shape) {
  std::ranges::reverse(shape);
  return shape;
}

// Blocks of both, grown along the last dimensions while they are small.
extents blocks(const extents& shape, const array_layout& a, const array_layout& b, std::uint64_t elements) {
  extents cell(shape.size(), 1);
  std::uint64_t size = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!a.chunk.empty()) cell[d] = a.chunk[d];
    if (!b.chunk.empty()) cell[d] = std::max(cell[d], b.chunk[d]);
    cell[d] = std::min(cell[d], std::max<std::uint64_t>(shape[d], 1));
    size *= cell[d];
  }
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::uint64_t times = std::min(elements / size, (shape[d] + cell[d] - 1) / cell[d]);
    if (times < 2) {
      if (cell[d] < shape[d]) break;
      continue;
    }
    size = size / cell[d] * std::min(cell[d] * times, shape[d]);
    cell[d] = std::min(cell[d] * times, shape[d]);
    if (cell[d] < shape[d]) break;
  }
  return cell;
}

}  // namespace

reading_plan plan_reading(const extents& shape, std::uint64_t element_bytes, const array_layout& a,
                          const array_layout& b, bool texts) {
  reading_plan plan;
  plan.shape = shape;
  plan.box_bytes = texts ? texts_of_a_box * element_bytes : box;
  const std::uint64_t elements = (texts ? plan.box_bytes : small_box) / element_bytes;
  plan.one_thread = a.sequential || b.sequential || a.block_bytes + b.block_bytes > two_threads;
  if (a.sequential || b.sequential) {
    const bool by_column = a.sequential ? a.column_major : b.column_major;
    const bool rewinds = a.sequential && b.sequential && a.column_major != b.column_major;
    if (rewinds || cuts_chunks(shape, a.chunk, element_bytes, box) ||
        cuts_chunks(shape, b.chunk, element_bytes, box))
      plan.box_bytes = large_box;
    const std::uint64_t room = std::max<std::uint64_t>(plan.box_bytes / element_bytes, 1);
    plan.cell = by_column ? reversed(fitting(reversed(shape), room)) : fitting(shape, room);
    plan.last_first = by_column;
  } else if (a.column_major || b.column_major) {
    if (a.column_major && b.column_major) {
      plan.cell = reversed(fitting(reversed(shape), elements));
      plan.last_first = true;
    } else {
      plan.cell.assign(shape.size(), 1);
      plan.cell.front() = std::min<std::uint64_t>(shape.front(), 256);
      plan.cell.back() = std::min<std::uint64_t>(shape.back(), 256);
    }
  } else if (!a.chunk.empty() || !b.chunk.empty()) {
    plan.cell = blocks(shape, a, b, elements);
    if (cuts_chunks(plan.cell, a.chunk, element_bytes, box) ||
        cuts_chunks(plan.cell, b.chunk, element_bytes, box)) {
      plan.box_bytes = large_box;
      plan.one_thread = true;
    }
  } else {
    plan.cell = fitting(shape, elements);
  }
  plan.cells = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) plan.cells *= (shape[d] + plan.cell[d] - 1) / plan.cell[d];
  return plan;
}

void for_each_box(const reading_plan& plan, std::uint64_t cell, std::uint64_t element_bytes,
                  const std::function<void(const model::box&)>& use) {
  const std::size_t rank = plan.shape.size();
  model::box all;
  all.first.resize(rank);
  all.count.resize(rank);
  for (std::size_t s = rank; s-- > 0;) {
    const std::size_t d = plan.last_first ? rank - 1 - s : s;
    const std::uint64_t along = (plan.shape[d] + plan.cell[d] - 1) / plan.cell[d];
    all.first[d] = cell % along * plan.cell[d];
    all.count[d] = std::min(plan.cell[d], plan.shape[d] - all.first[d]);
    cell /= along;
  }
  if (all.size() * element_bytes <= plan.box_bytes || rank == 0) return use(all);
  const extents part = fitting(all.count, plan.box_bytes / element_bytes);
  extents at(rank, 0);
  for (;;) {
    model::box piece;
    for (std::size_t d = 0; d < rank; ++d) {
      piece.first.push_back(all.first[d] + at[d]);
      piece.count.push_back(std::min(part[d], all.count[d] - at[d]));
    }
    use(piece);
    std::size_t d = rank;
    while (d > 0 && (at[d - 1] += part[d - 1]) >= all.count[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace numdiff::analysis

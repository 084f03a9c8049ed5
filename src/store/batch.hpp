#pragma once
// Rows and bytes on their way into tables: what intake makes of messages, what the writer appends to
// the file and the reader of a tail appends to a loaded rank.
#include <array>
#include <cstddef>
#include <vector>

#include "store/tables.hpp"

namespace numdiff::store {

struct batch {
  std::vector<detail::op_row> ops;
  std::vector<detail::capture_row> captures;
  std::vector<detail::cast_row> casts;
  std::vector<detail::scales_row> scales;
  std::vector<detail::collective_row> collectives;
  std::vector<detail::event_row> events;
  std::vector<detail::manifest_row> manifest;
  std::vector<detail::extra_row> extras;
  std::vector<sketch> sketches;
  std::vector<std::byte> histograms;
  std::vector<string_row> strings;
  std::vector<std::byte> string_heap;
  std::vector<detail::shape_row> shapes;
  std::vector<std::byte> extra_heap;
  std::array<std::vector<std::byte>, dtype_count> payload;

  // f(table, vector) for every table.
  template <class Self, class F>
  static void each(Self& self, F&& f) {
    f(table::ops, self.ops);
    f(table::captures, self.captures);
    f(table::casts, self.casts);
    f(table::scales, self.scales);
    f(table::collectives, self.collectives);
    f(table::events, self.events);
    f(table::manifest, self.manifest);
    f(table::extras, self.extras);
    f(table::sketches, self.sketches);
    f(table::histograms, self.histograms);
    f(table::strings, self.strings);
    f(table::string_heap, self.string_heap);
    f(table::shapes, self.shapes);
    f(table::extra_heap, self.extra_heap);
  }

  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    each(*this, [&](table, const auto& rows) { sum += rows.size() * sizeof(rows[0]); });
    for (const auto& codes : payload) sum += codes.size();
    return sum;
  }

  // Empties all, and gives back memory that one large tensor took.
  void clear() {
    each(*this, [](table, auto& rows) { rows.clear(); });
    for (auto& codes : payload) {
      codes.clear();
      if (codes.capacity() > (std::size_t{1} << 20)) codes.shrink_to_fit();
    }
  }
};

}  // namespace numdiff::store

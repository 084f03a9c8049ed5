#pragma once
// Makes rows of messages: strings and shapes get numbers, equal content is stored once.
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "model/run.hpp"
#include "store/batch.hpp"
#include "store/interner.hpp"
#include "store/message_view.hpp"

namespace numdiff::store {

// Bounds of what one file interns; a row whose text does not fit any more is dropped and counted.
inline constexpr std::size_t string_limit_bytes = std::size_t{64} << 20;
inline constexpr std::size_t shape_limit_bytes = std::size_t{16} << 20;

class intake {
 public:
  // `start`: what the tables hold already. A new file (no strings yet) gets the empty string and the
  // shape of a scalar as row 0.
  explicit intake(const lengths& start);

  // Takes one message. Unknown kinds and fields, and what does not add up, are counted.
  void take(const message_view& m);

  // The writer's own manifest entries.
  void add_manifest(std::string_view key, std::string_view value, manifest_class klass, std::int64_t time);

  // Rows since the last clear_rows(), and what the tables hold with them.
  [[nodiscard]] const batch& rows() const noexcept { return rows_; }
  [[nodiscard]] const lengths& length() const noexcept { return length_; }
  void clear_rows() { rows_.clear(); }
  batch take_rows() { return std::exchange(rows_, batch{}); }

  [[nodiscard]] const model::drop_counts& drops() const noexcept { return drops_; }
  [[nodiscard]] std::uint64_t unknown() const noexcept { return unknown_; }
  // Captures whose values are stored.
  [[nodiscard]] std::uint64_t stored() const noexcept { return stored_; }

 private:
  struct out_of_room {};  // thrown and caught inside take()
  struct capture_fields;

  void take_op(const message_view& m);
  void take_capture(const message_view& m);
  void take_event(const message_view& m);
  void take_manifest(const message_view& m);
  void take_extra(const message_view& m);
  void take_drop(const message_view& m);
  void take_collective(const message_view& m);
  bool take_collective_text(const field_view& f, detail::collective_row& texts);
  void append_collective(detail::collective_row row, const detail::collective_row& texts);

  detail::text text(std::span<const std::byte> bytes);
  detail::text text(std::string_view s);
  std::uint32_t shape(const detail::shape_row& row);
  std::int64_t histogram(std::span<const std::byte> bytes);
  std::int64_t sketch_row(std::span<const std::byte> bytes);
  // Element offset of codes in /payload/<type>; with a key, content that was stored is not stored again.
  std::int64_t payload(dtype type, std::span<const std::byte> codes, const content_index::key* key);
  void place_values(detail::capture_row& row, const capture_fields& f);

  template <class Row>
  void append(table t, std::vector<Row>& rows, const Row& row) {
    rows.push_back(row);
    ++length_.rows[index_of(t)];
  }
  std::int64_t append_bytes(table t, std::vector<std::byte>& heap, std::span<const std::byte> bytes);

  batch rows_;
  lengths length_;
  interner strings_;
  interner shapes_;
  content_index content_;
  model::drop_counts drops_;
  std::uint64_t unknown_ = 0;
  std::uint64_t stored_ = 0;
};

}  // namespace numdiff::store

#pragma once
// Codes of stored tensors and their sketches: from the run file, and from the messages of its tail.
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "model/run.hpp"
#include "store/stored_rows.hpp"
#include "store/tables.hpp"

namespace numdiff::store {

class payload_reader final : public model::payload_source {
 public:
  using places = std::array<row_places, dtype_count>;
  using codes = std::array<std::vector<std::byte>, dtype_count>;

  // `stored`: committed elements; `behind`: codes that follow them.
  payload_reader(std::shared_ptr<const stored_file> file, places stored, codes behind);

  // Throws store::error for a range that is not stored, and when the file was replaced meanwhile. Reads may
  // run at the same time in several threads.
  void read(dtype type, std::int64_t first, std::span<std::byte> out) const override;

  [[nodiscard]] const std::shared_ptr<const stored_file>& file() const noexcept { return file_; }
  [[nodiscard]] const places& stored() const noexcept { return stored_; }
  [[nodiscard]] const codes& behind() const noexcept { return behind_; }

 private:
  std::shared_ptr<const stored_file> file_;
  places stored_;
  codes behind_;
};

class sketch_reader final : public model::sketch_source {
 public:
  sketch_reader(std::shared_ptr<const stored_file> file, row_places stored)
      : file_(std::move(file)), stored_(std::move(stored)) {}
  [[nodiscard]] std::size_t size() const noexcept override { return static_cast<std::size_t>(stored_.rows); }
  [[nodiscard]] model::sketch read(std::size_t row) const override;
  [[nodiscard]] const row_places& stored() const noexcept { return stored_; }

 private:
  std::shared_ptr<const stored_file> file_;
  row_places stored_;
};

}  // namespace numdiff::store

#pragma once
// The sketches of one rank by row. Those of a run file stay there until they are asked for: thousands of
// ranks are compared without holding all of them.
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "model/sketch.hpp"

namespace numdiff::model {

// Sketches that a file holds. Reads may run at the same time in several threads.
class sketch_source {
 public:
  sketch_source() = default;
  sketch_source(const sketch_source&) = delete;
  sketch_source& operator=(const sketch_source&) = delete;
  virtual ~sketch_source() = default;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  // `row` is below size(). Throws storage errors.
  [[nodiscard]] virtual sketch read(std::size_t row) const = 0;
};

// Rows of the source, then those that were added.
class sketch_table {
 public:
  sketch_table() = default;
  explicit sketch_table(std::shared_ptr<const sketch_source> stored) : stored_(std::move(stored)) {}

  [[nodiscard]] std::size_t size() const noexcept { return in_source() + added_.size(); }
  // `row` is below size().
  [[nodiscard]] sketch operator[](std::size_t row) const {
    return row < in_source() ? stored_->read(row) : added_[row - in_source()];
  }
  void add(const sketch& row) { added_.push_back(row); }
  [[nodiscard]] const std::vector<sketch>& added() const noexcept { return added_; }
  [[nodiscard]] const sketch_source* source() const noexcept { return stored_.get(); }

 private:
  [[nodiscard]] std::size_t in_source() const noexcept { return stored_ ? stored_->size() : 0; }
  std::shared_ptr<const sketch_source> stored_;
  std::vector<sketch> added_;
};

}  // namespace numdiff::model

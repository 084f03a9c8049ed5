#pragma once
// Processes that read the same runs together, each a share of the files, for the first of them.
#include <cstddef>
#include <span>
#include <vector>

namespace numdiff::store {

class team {
 public:
  team() = default;
  team(const team&) = delete;
  team& operator=(const team&) = delete;
  virtual ~team() = default;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  [[nodiscard]] virtual std::size_t number() const noexcept = 0;  // of this process; 0 is the first
  // From another process to the first, in order. Both throw std::runtime_error when processes cannot talk.
  virtual void send(std::span<const std::byte> message) = 0;
  [[nodiscard]] virtual std::vector<std::byte> receive(std::size_t from) = 0;
};

}  // namespace numdiff::store

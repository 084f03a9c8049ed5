#pragma once
// Shapes of operands and how a shorter one broadcasts.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace numdiff::analysis::expect {

// Thrown inside the kinds and turned into replayed::why_not.
struct cannot_replay : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool condition, const char* why) {
  if (!condition) throw cannot_replay(why);
}

[[nodiscard]] inline std::size_t count_of(const std::vector<std::int64_t>& shape) noexcept {
  std::size_t n = 1;
  for (const std::int64_t d : shape) n *= static_cast<std::size_t>(d);
  return n;
}

[[nodiscard]] inline std::size_t last_of(const std::vector<std::int64_t>& shape) {
  require(!shape.empty(), "a tensor without dimensions where rows are expected");
  return static_cast<std::size_t>(shape.back());
}

}  // namespace numdiff::analysis::expect

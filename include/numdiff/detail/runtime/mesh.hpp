#pragma once
// The session's device mesh: axes with their size and this rank's coordinate.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "numdiff/detail/runtime/context_stack.hpp"
#include "numdiff/detail/runtime/locks.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline constexpr std::string_view micro_batch_axis = "micro_batch";

class device_mesh {
 public:
  struct place {
    std::int32_t size = 1, at = 0;
  };

  void set(std::string_view axis, std::int32_t size, std::int32_t coordinate) {
    locked guard(mutex_);
    for (entry& e : axes_) {
      if (e.axis == axis) {
        e.where = {size, coordinate};
        return;
      }
    }
    axes_.push_back({std::string(axis), {size, coordinate}});
  }

  // An axis nobody declared has one rank on it. Micro-batches are an axis on which a thread stands where its
  // context says.
  [[nodiscard]] place find(std::string_view axis) noexcept {
    place found;
    {
      locked guard(mutex_);
      for (const entry& e : axes_) {
        if (e.axis == axis) found = e.where;
      }
    }
    const std::int32_t part = current_values().micro_batch;
    if (axis == micro_batch_axis && part >= 0 && part < found.size) found.at = part;
    return found;
  }

 private:
  struct entry {
    std::string axis;
    place where;
  };
  mutex mutex_;
  std::vector<entry> axes_;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

#pragma once
// The session's device mesh: axes with their size and this rank's coordinate.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "numdiff/detail/runtime/locks.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

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

  // An axis nobody declared has one rank on it.
  [[nodiscard]] place find(std::string_view axis) noexcept {
    locked guard(mutex_);
    for (const entry& e : axes_) {
      if (e.axis == axis) return e.where;
    }
    return {};
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

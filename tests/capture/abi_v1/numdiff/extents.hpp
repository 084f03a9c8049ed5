#pragma once
// Up to eight sizes or strides.
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "numdiff/abi.h"

namespace numdiff {
inline namespace v1 {

// Any integer, so that {rows, columns} takes int, size_t and Eigen::Index without a cast.
struct index {
  template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer> || std::is_enum_v<Integer>>>
  constexpr index(Integer v) noexcept : value(static_cast<std::int64_t>(v)) {}
  std::int64_t value;
};

class extents {
 public:
  constexpr extents() noexcept = default;
  constexpr extents(std::initializer_list<index> sizes) noexcept {
    for (const index& size : sizes) push(size.value);
  }
  template <class Integer>
  constexpr extents(const Integer* sizes, int rank) noexcept {
    for (int i = 0; i < rank; ++i) push(static_cast<std::int64_t>(sizes[i]));
  }

  // More than numdiff_max_rank when there were too many.
  [[nodiscard]] constexpr std::uint32_t rank() const noexcept { return rank_; }
  constexpr std::int64_t operator[](std::uint32_t i) const noexcept { return sizes_[i]; }

 private:
  constexpr void push(std::int64_t size) noexcept {
    if (rank_ < numdiff_max_rank) sizes_[rank_] = size;
    if (rank_ <= numdiff_max_rank) ++rank_;
  }
  std::int64_t sizes_[numdiff_max_rank] = {};
  std::uint32_t rank_ = 0;
};

}  // namespace v1
}  // namespace numdiff

#pragma once
// The stored values of a logical capture in global row-major order, read window by window.
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/expect/scale_map.hpp"
#include "analysis/index.hpp"
#include "analysis/merge.hpp"
#include "analysis/placement.hpp"

namespace numdiff::analysis {

// Shards are put in their places, addends summed, and the pending factor divided out. Memory is that of
// a window, of the scales and of explicit ids.
class value_reader {
 public:
  value_reader(const run_index& run, const merged_capture& capture, placement_cache& placements);

  // False when a part kept no values or does not fit its placement; nothing can be read then.
  [[nodiscard]] bool readable() const noexcept { return readable_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] bool scaled() const noexcept { return scaled_; }

  // Elements [first, first + out.size()); `scales` is as long, or empty when nobody asks. T is double, or
  // long double, which holds 64-bit integers exactly. Storage errors pass through.
  template <class T>
  void read(std::int64_t first, std::span<T> out, std::span<double> scales = {});

 private:
  struct part {
    const model::rank_data* rank = nullptr;
    const model::capture_row* row = nullptr;
    const placement* where = nullptr;  // nullptr: local order is global order
    const model::shape_row* shape = nullptr;
    std::int64_t count = 0;
    expect::scale_map map;
    std::vector<double> scales, zero;
    std::vector<std::int64_t> ids;
  };

  bool add(const run_index& run, const member& m, bool alone, placement_cache& placements);
  static bool load_scales(part& p, const model::shape_row& shape);
  static std::int64_t global_index(const part& p, std::int64_t local) noexcept;
  template <class T>
  void read_local(const part& p, std::int64_t first, std::span<T> out, std::span<double> scales);
  template <class T, class Index>
  void place(const part& p, std::int64_t begin, std::int64_t end, std::int64_t first, std::span<T> out,
             std::span<double> scales, Index index);

  std::vector<part> parts_;
  std::vector<std::byte> codes_;
  dtype type_;
  double factor_;
  std::int64_t size_ = 0;
  bool readable_ = false, scaled_ = false;
};

}  // namespace numdiff::analysis

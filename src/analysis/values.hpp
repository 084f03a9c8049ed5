#pragma once
// The stored values of a logical capture in global row-major order, read window by window.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/expect/scale_map.hpp"
#include "analysis/index.hpp"
#include "analysis/index_map.hpp"
#include "analysis/merge.hpp"
#include "analysis/placement.hpp"

namespace numdiff::analysis {

// Shards are put in their places, addends summed, and the pending factor divided out. The whole is never
// assembled: memory is that of a window, of the scales and of explicit ids.
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

  // Calls f(part, begin, end), by index into the parts of the capture, for elements [begin, end) of
  // [first, last) that it holds; of addends for each of them.
  template <class F>
  void owners(std::int64_t first, std::int64_t last, const F& f) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i].map) {
        f(i, first, last);
        continue;
      }
      parts_[i].map->visit(first / per_element_, last / per_element_, [&](const stretch& s) {
        f(i, s.global * per_element_, (s.global + s.length) * per_element_);
      });
    }
  }

 private:
  struct part {
    const model::rank_data* rank = nullptr;
    const model::capture_row* row = nullptr;
    std::optional<index_map> map;  // none: local order is global order
    std::int64_t count = 0;
    expect::scale_map scale_of;
    std::vector<double> scales, zero;
  };

  bool add(const run_index& run, const member& m, bool alone, placement_cache& placements);
  static bool load_scales(part& p, const model::shape_row& shape);
  template <class T>
  void read_local(const part& p, std::int64_t first, std::span<T> out, std::span<double> scales);
  template <class T>
  void add_part(const part& p, std::int64_t first, std::span<T> out, std::span<double> scales);

  std::vector<part> parts_;
  std::vector<std::byte> codes_;
  dtype type_;
  double factor_;
  std::int64_t size_ = 0, per_element_ = 1;  // a complex element has two numbers
  bool readable_ = false, scaled_ = false;
};

}  // namespace numdiff::analysis

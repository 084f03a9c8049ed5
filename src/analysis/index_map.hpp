#pragma once
// Which elements of the global tensor a view holds, as stretches of neighbours in the order of the whole.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/index.hpp"
#include "analysis/placement.hpp"

namespace numdiff::analysis {

// `length` elements from `local` of the view are those from `global` of the whole tensor; or, within one
// dimension, indices.
struct stretch {
  std::int64_t global = 0, local = 0, length = 0;
};

class index_map {
 public:
  // Nothing when the view leaves the global tensor, or holds an element twice. `ids` are those of a placement
  // by ids; below 0 they are padding. Extents are those of the view without the parts of complex numbers.
  static std::optional<index_map> of(const placement& where, const model::shape_row& shape,
                                     std::span<const std::int64_t> ids);

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }  // elements held, without padding
  [[nodiscard]] bool overlaps(const index_map& other) const;

  // Calls f(stretch) for what it holds of elements [first, last), in ascending order, until f returns true.
  template <class F>
  bool find(std::int64_t first, std::int64_t last, const F& f) const {
    if (count_ == 0 || first >= last) return false;
    if (!flat_.empty()) return find_flat(first, last, f);
    if (dims_.empty()) return first < count_ && f(stretch{first, first, std::min(last, count_) - first});
    return find_in(0, 0, 0, first, last, f);
  }
  // The same for all of them.
  template <class F>
  void visit(std::int64_t first, std::int64_t last, const F& f) const {
    find(first, last, [&](const stretch& s) {
      f(s);
      return false;
    });
  }

 private:
  template <class F>
  bool find_flat(std::int64_t first, std::int64_t last, const F& f) const {
    for (auto s = behind(flat_, first); s != flat_.end() && s->global < last; ++s) {
      const std::int64_t from = std::max(s->global, first), to = std::min(s->global + s->length, last);
      if (f(stretch{from, s->local + from - s->global, to - from})) return true;
    }
    return false;
  }
  template <class F>
  bool find_in(std::size_t d, std::int64_t global, std::int64_t local, std::int64_t first, std::int64_t last,
               const F& f) const {
    const dimension& here = dims_[d];
    const std::int64_t low = first <= global ? 0 : (first - global) / here.global_stride;
    for (auto s = behind(here.held, low); s != here.held.end(); ++s) {
      const std::int64_t begin = global + s->global * here.global_stride;
      if (begin >= last) return false;
      if (d + 1 == dims_.size()) {
        const std::int64_t from = std::max(begin, first),
                           to = std::min(begin + s->length * here.global_stride, last);
        if (from < to && f(stretch{from, local + s->local * here.local_stride + from - begin, to - from}))
          return true;
        continue;
      }
      for (std::int64_t i = std::max<std::int64_t>(0, low - s->global); i < s->length; ++i) {
        const std::int64_t at = global + (s->global + i) * here.global_stride;
        if (at >= last) return false;
        if (find_in(d + 1, at, local + (s->local + i) * here.local_stride, first, last, f)) return true;
      }
    }
    return false;
  }
  // The first stretch that ends behind `index`.
  static std::vector<stretch>::const_iterator behind(const std::vector<stretch>& all, std::int64_t index) {
    return std::ranges::partition_point(all, [&](const stretch& s) { return s.global + s.length <= index; });
  }

  // Of a box: down to the last dimension that is not whole, so that what follows it is contiguous.
  struct dimension {
    std::vector<stretch> held;  // ascending
    std::int64_t global_stride = 1, local_stride = 1;
  };
  std::vector<dimension> dims_;
  std::vector<stretch> flat_;  // ascending
  std::int64_t count_ = 0;
};

// Of a capture, with the ids that it kept. Storage errors pass through.
std::optional<index_map> map_of(const run_index& run, const member& one, const placement& where);

}  // namespace numdiff::analysis

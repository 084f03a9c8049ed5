#pragma once
// The elements that each result of a reduction is made of, one after the other, without the hidden ones.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/expect/axes.hpp"
#include "analysis/expect/hidden.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

// Of the first read of a call, which must outlive it.
class rows_of {
 public:
  rows_of(const call& c, const reduction_axes& axes) : rows_(axes.kept.size()), whole_(axes.reduced.size()) {
    const tensor& x = c.read(0);
    const std::vector<std::uint8_t> hidden = hidden_by_code(c.op().reads[0]);
    values_ = &x.values;
    for (std::size_t r = 0; r < rows_; ++r) {
      begin_.push_back(hidden.empty() && axes.contiguous() ? axes.kept[r] : visible_.size());
      if (hidden.empty() && axes.contiguous()) continue;
      values_ = &visible_;
      for (const std::size_t k : axes.reduced) {
        const std::size_t at = axes.kept[r] + k;
        if (!hidden.empty() && hidden[at] != 0) continue;
        visible_.push_back(x.values[at]);
      }
      end_.push_back(visible_.size());
    }
  }
  rows_of(const rows_of&) = delete;
  rows_of& operator=(const rows_of&) = delete;
  [[nodiscard]] std::size_t size() const { return rows_; }
  [[nodiscard]] std::size_t whole() const { return whole_; }  // length of a row with its hidden elements
  [[nodiscard]] std::span<const double> operator[](std::size_t row) const {
    const std::size_t length = end_.empty() ? whole_ : end_[row] - begin_[row];
    return std::span(*values_).subspan(begin_[row], length);
  }

 private:
  const std::vector<double>* values_ = nullptr;
  std::vector<double> visible_;
  std::vector<std::size_t> begin_, end_;
  std::size_t rows_ = 0, whole_ = 0;
};

}  // namespace numdiff::analysis::expect

#pragma once
// A tensor of any format that is read and written as numbers, and numbers to fill it with.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "numdiff/numdiff.hpp"

namespace reproduce {

// Each write rounds once.
class array {
 public:
  array(numdiff::dtype type, std::vector<std::int64_t> shape, double value = 0);
  array(numdiff::dtype type, std::vector<std::int64_t> shape, const std::vector<double>& values,
        numdiff::cast_rule rule = {});

  [[nodiscard]] numdiff::dtype type() const { return type_; }
  [[nodiscard]] std::size_t size() const { return codes_.size() / width_; }
  double operator[](std::size_t i) const;
  void set(std::size_t i, double value, numdiff::cast_rule rule = {});
  // The same values in another format.
  [[nodiscard]] array as(numdiff::dtype type, numdiff::cast_rule rule = {}) const;
  [[nodiscard]] std::vector<double> values() const;
  [[nodiscard]] numdiff::view seen() const;
  [[nodiscard]] const std::byte* data() const { return codes_.data(); }

 private:
  numdiff::dtype type_;
  std::size_t width_;
  std::vector<std::int64_t> shape_;
  std::vector<std::byte> codes_;
};

// f(i) for every element, rounded to the format.
array mapped(numdiff::dtype type, std::vector<std::int64_t> shape,
             const std::function<double(std::size_t)>& f, numdiff::cast_rule rule = {});

// x rounded to a format.
double rounded(numdiff::dtype type, double x, numdiff::cast_rule rule = {});

// Normal numbers, the same for a seed on every machine.
std::vector<double> normal(std::size_t count, std::uint64_t seed, double deviation = 1, double mean = 0);

}  // namespace reproduce

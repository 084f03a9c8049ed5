#pragma once
// A case: two versions of a program, each recorded in a process of its own, and what numdiff says of the
// pair.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/comparison.hpp"
#include "numdiff/numdiff.hpp"
#include "numdiff/session.hpp"

namespace numdiff::testing {

// A tensor of any format that is read and written as numbers; each write rounds once.
class array {
 public:
  array(dtype type, std::vector<std::int64_t> shape, double value = 0);
  array(dtype type, std::vector<std::int64_t> shape, const std::vector<double>& values, cast_rule rule = {});

  [[nodiscard]] dtype type() const { return type_; }
  [[nodiscard]] std::size_t size() const { return codes_.size() / width_; }
  double operator[](std::size_t i) const;
  void set(std::size_t i, double value, cast_rule rule = {});
  // The same values in another format.
  [[nodiscard]] array as(dtype type, cast_rule rule = {}) const;
  [[nodiscard]] std::vector<double> values() const;
  [[nodiscard]] numdiff::view seen() const;

 private:
  dtype type_;
  std::size_t width_;
  std::vector<std::int64_t> shape_;
  std::vector<std::byte> codes_;
};

// f(i) for every element, rounded to the format.
array mapped(dtype type, std::vector<std::int64_t> shape, const std::function<double(std::size_t)>& f,
             cast_rule rule = {});

// x rounded to a format.
double rounded(dtype type, double x, cast_rule rule = {});

// Normal numbers, the same for a seed on every machine.
std::vector<double> normal(std::size_t count, std::uint64_t seed, double deviation = 1, double mean = 0);

// What one rank of a run does between opening and closing its session.
using program = std::function<void(session&, std::int32_t rank)>;

// Records both at level tensors, every rank in a forked child, and compares. Throws std::runtime_error when a
// child fails.
analysis::comparison compared(const program& reference, const program& test, std::int32_t reference_ranks = 1,
                              std::int32_t test_ranks = 1);

// "op symptom cause" of the first divergence, "none".
std::string first(const analysis::comparison& c);
// The op where non-finite values began, "none".
std::string nonfinite(const analysis::comparison& c);
// "op symptom" of every place that lost information, joined by commas.
std::string lost(const analysis::comparison& c);
// A number behind the first divergence; NaN when it is not told.
double number(const analysis::comparison& c, const std::string& name);
// Everything found, for messages of failed tests.
std::string told(const analysis::comparison& c);

}  // namespace numdiff::testing

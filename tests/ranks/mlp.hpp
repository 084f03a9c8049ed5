#pragma once
// A stack of tensor-parallel MLPs that trains nothing: columns of fc1 and rows of fc2 are spread over the
// ranks of an axis "tp", partial sums are added round a ring. Every rank runs on its own, as a real program
// would.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "array.hpp"
#include "record.hpp"

namespace numdiff::testing {

// What a rank wrote of one tensor, before it is captured: `values` are row-major, of `width` columns that
// begin at `first` of the whole tensor.
struct written {
  int layer = 0;
  std::string op;
  std::int32_t rank = 0;
  std::int64_t first = 0, width = 0;
  std::vector<double>& values;
};

struct mlp {
  std::int32_t ranks = 1;
  int layers = 2;
  dtype type = dtype::f32;
  std::function<void(const written&)> spoil = {};

  static constexpr std::int64_t tokens = 24, hidden = 48, inner = 96;

  [[nodiscard]] reproduce::program program() const;
  // What an op of one layer writes when nothing is spoiled; of fc2 what the last rank adds.
  [[nodiscard]] std::vector<double> honest(int layer, const std::string& op) const;
};

}  // namespace numdiff::testing

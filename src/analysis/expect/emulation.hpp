#pragma once
// Ways in which a product may have been added up, each as the value that it gives for one element.
#include <functional>
#include <string>
#include <vector>

#include "analysis/expect/matmul.hpp"

namespace numdiff::analysis::expect {

// One element's dot product before its output rounding; `stride` is that of b.
using dot = std::function<double(const double* a, const double* b, std::size_t stride, std::size_t k)>;

// Emulations of one accumulator in several orders share their `accumulator`.
struct emulation {
  std::string accumulator;  // for people: "a bf16 accumulator"
  const char* cause;        // a name of docs/causes.md when it is not what was declared; "" none
  dot sum;                  // null: the exact sum
  double noise = 0;         // unit roundoff of additions whose order is left open; 0: every bit is emulated
  grid last = {};           // the sum is a number of this format
  bool cuts_output = false;
};

// For floating-point factors and results, the declared accumulator among them.
[[nodiscard]] std::vector<emulation> emulations(const call& c, const product& p);

// Which `accumulator` of the above the op record declares.
[[nodiscard]] std::string declared_accumulator(const call& c);

}  // namespace numdiff::analysis::expect

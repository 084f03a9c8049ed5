#pragma once
// Faults of a size, put into what an op computed before it is stored.
#include <cstdint>
#include <random>
#include <string>

#include "measure/benign/tensor.hpp"

namespace power {

using benign::tensor;
using benign::values;
using numdiff::dtype;

enum class cause {
  none,
  noise,       // a random error of size times the expected error
  relative,    // a random error of size times the values' rms
  bias,        // size ulps away from zero
  element,     // one element becomes another one, or moves towards it by the share `size`
  factor,      // everything times 1 + size
  rows,        // a range of an eighth of the rows times 1 + size
  accumulate,  // the running sum holds bf16; size: addends
  dropped,     // a product leaves out its last addends; size: addends
  stale,       // a scale for values that are smaller; size: largest value over what the scale reaches
};

cause cause_of(const std::string& name);  // exits with a message when there is no such cause

struct fault {
  cause what = cause::none;
  double size = 0;
  double expected = 0;  // error of an honest execution, rms

  // Changes values at places and by amounts that `random` draws. `steps`: the spacing of the output's format
  // at each value; `width`: elements of a row.
  void spoil(values& x, const values& steps, std::size_t width, std::mt19937_64& random) const;
};

// Spacing of a format at a value.
double step_of(dtype type, double value);

}  // namespace power

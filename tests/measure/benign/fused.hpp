#pragma once
// Kernels that one run fuses and the other has in parts.
#include <string>

#include "measure/benign/program.hpp"

namespace benign {

bool fuses(const program& p);
// What the next op, which both runs have, makes of a result.
void read_on(program& p, const std::string& name, const tensor& x);

// Attention over blocks of keys, and its gradient.
void attention_kernels(program& p);

}  // namespace benign

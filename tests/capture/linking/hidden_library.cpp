#include "numdiff/numdiff.hpp"

__attribute__((visibility("default"))) void op_in_hidden_library() {
  using namespace numdiff::dtypes_short;
  const float x[2] = {1, 2};
  NUMDIFF_OP(op, "in a hidden library", copy, numdiff::dtypes(f32, f32, f32));
  NUMDIFF_INPUT(op, "x", numdiff::view(x, {2}));
}

#include "numdiff/numdiff.hpp"

extern "C" __attribute__((visibility("default"))) int op_in_plugin() {
  using namespace numdiff::dtypes_short;
  const float x[2] = {1, 2};
  NUMDIFF_OP(op, "in a plug-in", copy, numdiff::dtypes(f32, f32, f32));
  NUMDIFF_INPUT(op, "x", numdiff::view(x, {2}));
  return op.recording() ? 1 : 0;
}

#pragma once
// Every macro in every position a statement or an expression may stand in. Compiled with probes on and
// off, in two languages, by two compilers, with every warning an error; and run by statements_test.cpp.
#include <cstddef>

#include "numdiff/numdiff.hpp"

namespace statements {

namespace n = numdiff;
using namespace numdiff::dtypes_short;

struct counted {
  int evaluated = 0;
  float x[4] = {1, 2, 3, 4};
  n::view view() {
    ++evaluated;
    return n::view(x, {4});
  }
};

inline int declarations(int step, const n::context& other) {
  NUMDIFF_STEP(step);
  NUMDIFF_MICRO_BATCH(step + 1);
  NUMDIFF_PHASE(forward);
  NUMDIFF_SCOPE("decoder");
  NUMDIFF_SCOPE("layer");
  NUMDIFF_TAG("request", 17);
  NUMDIFF_TAG("user", "x");
  NUMDIFF_FACTOR("loss_scale", 2.0F);
  NUMDIFF_CONTEXT(other);
  if (step > 0) NUMDIFF_SCOPE("braceless");
  for (int i = 0; i < 2; ++i) NUMDIFF_STEP(i);
  return step;
}

template <class A, class B>
n::dtypes types() {
  return {n::dtype_of_v<A>, f32, n::dtype_of_v<B>};
}

inline void probes(counted& c, int which) {
  const n::cast_counter counter(n::dtype::f16);
  NUMDIFF_OP(op, "y", matmul, types<float, n::bf16_t>().mnk(1, 2, 3));
  if (which == 0)
    NUMDIFF_INPUT(op, "a", c.view());
  else
    NUMDIFF_OUTPUT(op, "b", c.view());
  switch (which) {
    case 0: NUMDIFF_WEIGHT(op, "w", c.view()); break;
    case 1: NUMDIFF_GRADIENT(op, "g", c.view()); break;
    default: NUMDIFF_STATE(op, "s", c.view());
  }
  for (int i = 0; i < 2; ++i) NUMDIFF_SCALAR(op, "i", i);
  which > 100 ? NUMDIFF_SCALE(op, "scale", c.view()) : NUMDIFF_ACCUMULATE(op, "acc", c.view());
  const auto later = [&] { return NUMDIFF_CAST(op, "cast", c.view(), c.view()); };
  later();
  NUMDIFF_COUNTS(op, "counts", counter);
  NUMDIFF_COLLECTIVE(op, n::collective(n::collective_operation::all_reduce, n::reduction::sum).ranks({0, 1}));
  NUMDIFF_TENSOR("t", c.view()), NUMDIFF_SKIP_STEP();
  NUMDIFF_INPUT(op, "lambda", [&] { return n::view(c.x, {2, 2}); }());
  do NUMDIFF_SCALAR(op, "do", 1.0);
  while (false);
}

// Only used by a probe: must not warn when it is compiled out.
inline void only_traced(const float* p, std::size_t rows) {
  const int columns = 2;
  NUMDIFF_OP(op, "only", copy, n::dtypes(f32, f32, f32));
  NUMDIFF_INPUT(op, "x", n::view(p, {rows, columns}));
}

}  // namespace statements

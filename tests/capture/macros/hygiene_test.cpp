// Names that users have: macros must not meet them.
#define op_state user_macro_must_not_meet_this
namespace user {
struct op {};
struct view {};
struct scoped {};
struct role {};
namespace std {
struct string {};
}  // namespace std
namespace numdiff_like {}
}  // namespace user
#undef op_state

#include "numdiff/numdiff.hpp"

#include <doctest/doctest.h>

namespace user {
namespace detail {}
namespace v1 {}

int input = 0, step = 0, phase = 0, sink = 0, recording = 0;

int instrumented() {
  const int n = 3, i = 4;
  const float x[1] = {1};
  NUMDIFF_STEP(n);
  NUMDIFF_MICRO_BATCH(i);
  NUMDIFF_PHASE(backward);
  NUMDIFF_SCOPE("s");
  NUMDIFF_OP(op, "name", kind,
             ::numdiff::dtypes(::numdiff::dtype::f32, ::numdiff::dtype::f32, ::numdiff::dtype::f32));
  NUMDIFF_INPUT(op, "x", ::numdiff::view(x, {1}));
  NUMDIFF_SCALAR(op, "n", n);
  return n + input + step + phase + sink + recording;
}

// The same with everything of numdiff in scope.
int with_using() {
  using namespace numdiff;
  using namespace numdiff::dtypes_short;
  const float x[1] = {1};
  NUMDIFF_OP(product, "name", matmul, dtypes(f32, f32, f32));
  NUMDIFF_INPUT(product, "x", numdiff::view(x, {1}));
  return 0;
}
}  // namespace user

TEST_CASE("user code with names like ours compiles and runs") {
  CHECK(user::instrumented() == 3);
  CHECK(user::with_using() == 0);
}

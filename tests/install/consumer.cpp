// A user's program: one op captured, the way the README shows it. Exits 0 when the session took the captures.
#include <numdiff/numdiff.hpp>
#include <numdiff/session.hpp>

int main() {
  numdiff::session_options options;
  options.file = "consumer.h5";
  options.level = numdiff::level::tensors;
  numdiff::session session(options);
  if (!session.active()) return 2;

  const float x[4] = {1, 2, 3, 4};
  float y[4];
  {
    NUMDIFF_STEP(0);
    NUMDIFF_SCOPE("consumer");
    NUMDIFF_OP(op, "double", scale,
               numdiff::dtypes(numdiff::dtype::f32, numdiff::dtype::f32, numdiff::dtype::f32));
    NUMDIFF_INPUT(op, "x", numdiff::view(x, {4}));
    NUMDIFF_SCALAR(op, "factor", 2.0);
    for (int i = 0; i < 4; ++i) y[i] = 2 * x[i];
    NUMDIFF_OUTPUT(op, "y", numdiff::view(y, {4}));
  }
  session.close();
  return session.statistics().captures == 3 && y[3] == 8 ? 0 : 1;
}

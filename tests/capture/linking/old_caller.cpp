// Compiled with the frozen headers in tests/capture/abi_v1, as a program built against the first version.
#include "numdiff/numdiff.hpp"

#include <cstring>
#include <string>

#include "numdiff/session.hpp"

// Returns the number of captures the session took; "" or what went wrong in `error`.
std::uint64_t old_program(const char* file, std::string& error);

std::uint64_t old_program(const char* file, std::string& error) {
  using namespace numdiff::dtypes_short;
  numdiff::session_options o;
  o.file = file;
  o.level = numdiff::level::tensors;
  numdiff::session s(o);
  s.mesh("tp", 2, 1);
  s.manifest("key", "value");
  s.set_update(4);
  const float x[6] = {1, 2, 3, 4, 5, 6};
  const float scale = 0.5F;
  {
    NUMDIFF_STEP(1);
    NUMDIFF_MICRO_BATCH(2);
    NUMDIFF_PHASE(backward);
    NUMDIFF_SCOPE("scope");
    NUMDIFF_TAG("request", 17);
    NUMDIFF_FACTOR("loss_scale", 8.0);
    const numdiff::context c = numdiff::current_context();
    NUMDIFF_CONTEXT(c);
    NUMDIFF_OP(op, "y", matmul, numdiff::dtypes(f32, f32, f32).mnk(1, 2, 3).algorithm("a"));
    NUMDIFF_COLLECTIVE(
        op, numdiff::collective(numdiff::collective_operation::all_reduce).communicator("tp").ranks({0, 1}));
    NUMDIFF_INPUT(op, "x", numdiff::view(x, {2, 3}).shard("tp", 1).scaled(numdiff::scale_per_tensor(&scale)));
    NUMDIFF_GRADIENT(op, "g", numdiff::view(x, {6}).allocation(1, 2, 3, 4));
    NUMDIFF_SCALAR(op, "eps", 1e-5);
    numdiff::cast_counter counter(numdiff::dtype::f16);
    counter.before_cast(1e6);
    NUMDIFF_COUNTS(op, "c", counter);
    NUMDIFF_TENSOR("t", numdiff::view(x, {6}));
    NUMDIFF_SKIP_STEP();
  }
  if (!s.flush()) error = s.last_error();
  return s.statistics().captures;
}

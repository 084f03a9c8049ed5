// ND854: a long product of fitting sizes is slower in BF16 than in FP32. In the near miss it is faster.
#include "reproduction.hpp"
#include "timed_product.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  if (v == version::reference)
    record_timed({64, dtype::f32, 300});
  else if (v == version::test)
    record_timed({64, dtype::bf16, 320});
  else
    record_timed({64, dtype::bf16, 170});
}

const reproduction nd854("ND854", run, {.found_in = "findings"});

}  // namespace

// ND852: a BF16 product whose rows are 84 bytes long is no faster than in FP32. In the near miss it is.
#include "reproduction.hpp"
#include "timed_product.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  if (v == version::reference)
    record_timed({42, dtype::f32, 40});
  else if (v == version::test)
    record_timed({42, dtype::bf16, 40});
  else
    record_timed({42, dtype::bf16, 22});
}

const reproduction nd852("ND852", run, {.found_in = "findings"});

}  // namespace

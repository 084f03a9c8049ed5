// ND853: a product that takes 3 us is no faster in BF16. In the near miss it takes 80 us, and a launch is no
// excuse (ND854).
#include "reproduction.hpp"
#include "timed_product.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  if (v == version::reference)
    record_timed({48, dtype::f32, 3});
  else if (v == version::test)
    record_timed({48, dtype::bf16, 3});
  else
    record_timed({48, dtype::bf16, 80});
}

const reproduction nd853("ND853", run, {.found_in = "findings"});

}  // namespace

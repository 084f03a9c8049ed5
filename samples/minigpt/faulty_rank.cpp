#include "faulty_rank.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace minigpt {
namespace {

void perturb(const engine& e, parameters& weights) {
  for (parameter* p : weights.all()) {
    if (p->name != "attn.q" || !e.fault.starts("perturbed-weights", e.step, p->layer)) continue;
    with_real(e, [&]<class T>() {
      std::vector<T> values = decode<T>(p->value);
      values[0] += T(0.125);
      encode(values, p->value);
    });
  }
}

void flush_subnormals() {
#if defined(__SSE2__)
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
#endif
}

}  // namespace

void plant_in_rank(const engine& e, parameters& weights) {
  if (e.world.rank() != e.world.size() - 1) return;
  perturb(e, weights);
  if (e.fault.now("flushing-rank", e.step)) flush_subnormals();
}

}  // namespace minigpt

#pragma once
// The floating-point environment of the pass: nearest, subnormals kept, exceptions masked.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "numdiff's implementation must be compiled without -ffast-math; the files of your kernels may use it"
#endif

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace numdiff {
inline namespace v1 {
namespace detail {

// Sets the environment while alive and puts back control and status bits as they were. The work must
// be a call that is not inlined into the guard's scope: compilers move arithmetic across the switch.
class fp_environment {
 public:
#if defined(__SSE2__)
  fp_environment() noexcept : saved_(_mm_getcsr()) {
    _mm_setcsr(0x1f80);
  }
  ~fp_environment() {
    _mm_setcsr(saved_);
  }
#else
  fp_environment() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~fp_environment() {
    std::fesetenv(&saved_);
  }
#endif
  fp_environment(const fp_environment&) = delete;
  fp_environment& operator=(const fp_environment&) = delete;

 private:
#if defined(__SSE2__)
  unsigned saved_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

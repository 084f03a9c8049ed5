// The pass in a hostile floating-point environment, which must be as before afterwards.
#include <cfenv>
#include <cstring>

#include "capture/observe/tensors.hpp"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using namespace tensors;

namespace numdiff::detail {
// The pass called from a file compiled with -ffast-math.
bool observe_from_fast_math(const observe_input& in, observation& out) noexcept;
}  // namespace numdiff::detail

namespace {

struct sample {
  std::vector<unsigned char> codes;
  detail::observe_input in;
};

std::vector<sample> samples() {
  std::vector<sample> all;
  for (dtype t : all_dtypes()) {
    sample s{random_codes(t, 3000, 30), {}};
    s.in.tensor = dense(s.codes.data(), t, {3000});
    all.push_back(std::move(s));
  }
  return all;
}

bool same(const detail::observation& a, const detail::observation& b) {
  return std::memcmp(&a.row, &b.row, sizeof a.row) == 0 &&
         std::memcmp(a.sketch, b.sketch, sizeof a.sketch) == 0 && a.histogram == b.histogram;
}

}  // namespace

#if defined(__SSE2__)
TEST_CASE("any control word, the same results, and the word as it was") {
  const unsigned before = _mm_getcsr();
  for (const sample& s : samples()) {
    CAPTURE(numdiff::name_of(s.in.tensor.type));
    detail::observation plain;
    REQUIRE(detail::observe_for_test(s.in, plain));
    // Flush to zero, denormals are zero, each rounding mode, no exception masked, with and without flags set.
    for (unsigned word : {0x8040U, 0x9fc0U, 0x3f80U, 0x5f80U, 0x7f80U, 0x0000U, 0x1fbfU, 0xe040U}) {
      detail::observation got;
      _mm_setcsr(word);
      const bool done = detail::observe_for_test(s.in, got);
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      CHECK(done);
      CHECK(after == word);
      CHECK(same(plain, got));
    }
  }
}
#endif

TEST_CASE("trapping exceptions are neither raised nor lost") {
  for (const sample& s : samples()) {
    detail::observation plain, got;
    REQUIRE(detail::observe_for_test(s.in, plain));
    std::feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT);
    const bool done = detail::observe_for_test(s.in, got);
    const int enabled = fedisableexcept(FE_ALL_EXCEPT);
    CHECK(done);
    CHECK(enabled == (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT));
    CHECK(std::fetestexcept(FE_ALL_EXCEPT) == 0);
    CHECK(same(plain, got));
  }
}

TEST_CASE("a caller compiled with -ffast-math gets the same") {
  for (const sample& s : samples()) {
    detail::observation plain, got;
    REQUIRE(detail::observe_for_test(s.in, plain));
    REQUIRE(detail::observe_from_fast_math(s.in, got));
    CHECK(same(plain, got));
  }
}

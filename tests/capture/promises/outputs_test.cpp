// Capturing changes no bit of what the program computes, in any floating-point environment.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "capture/promises/workload.hpp"
#include "capture/support/recording.hpp"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using numdiff::level;
using numdiff::detail::capture_row;
using test::recording;

namespace {

constexpr std::size_t n = 1000;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("outputs are the same at every level") {
  const auto plain = workload::run(n);
  for (const level at : {level::off, level::stats, level::sketch, level::tensors}) {
    recording r(at);
    CHECK(same_bits(plain, workload::run(n)));
  }
}

TEST_CASE("nothing is printed") {
  const test::temporary_directory directory;
  const std::string log = directory.file("log");
  const int out = dup(1), err = dup(2);
  const int file = open(log.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  dup2(file, 1);
  dup2(file, 2);
  {
    recording r(level::tensors);
    workload::run(n);
    recording second;
    setenv("NUMDIFF_LEVEL", "nonsense", 1);
    r.session().close();
    recording wrong;
    unsetenv("NUMDIFF_LEVEL");
    recording nowhere(level::sketch, [](numdiff::session_options& o) { o.file = "/nowhere/at/all.h5"; });
  }
  dup2(out, 1);
  dup2(err, 2);
  close(out);
  close(err);
  struct stat what {};
  fstat(file, &what);
  close(file);
  CHECK(what.st_size == 0);
}

#if defined(__SSE2__)
TEST_CASE("every floating-point environment stays as it is, and the records do not depend on it") {
  const auto record = [&](unsigned control, std::vector<float>& result, unsigned& after) {
    recording r(level::tensors);
    const unsigned before = _mm_getcsr();
    _mm_setcsr(control);
    result = workload::run(n);
    after = _mm_getcsr();
    _mm_setcsr(before);
    return test::captures(r.finish());
  };
  std::vector<float> nearest;
  unsigned after = 0;
  const auto expected = record(0x1f80, nearest, after);
  // Flush to zero and denormals are zero; then each rounding mode.
  for (const unsigned control : {0x9fc0U, 0x3f80U, 0x5f80U, 0x7f80U}) {
    std::vector<float> result, plain;
    const auto captured = record(control, result, after);
    CHECK((after & 0xffc0U) == control);
    const unsigned before = _mm_getcsr();
    _mm_setcsr(control);
    plain = workload::run(n);
    _mm_setcsr(before);
    CHECK(same_bits(plain, result));
    // The first input is the same in all of them.
    CHECK(captured.at(0).as<capture_row>().digest0 == expected.at(0).as<capture_row>().digest0);
    CHECK(captured.at(0).as<capture_row>().sum_sq == expected.at(0).as<capture_row>().sum_sq);
    CHECK(captured.at(0).fields.at(numdiff::detail::field::sketch) ==
          expected.at(0).fields.at(numdiff::detail::field::sketch));
  }
}

TEST_CASE("programs that trap floating-point exceptions are not trapped by a probe") {
  recording r(level::tensors);
  const std::vector<float> x = {1e30F, 3e-39F, INFINITY, NAN, 0.1F, 1.0F / 3};
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x0000);  // every exception traps
  {
    using namespace numdiff::dtypes_short;
    NUMDIFF_FACTOR("loss_scale", 0.1);
    NUMDIFF_FACTOR("accumulation", 0.7);
    NUMDIFF_OP(op, "x", copy, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "x", numdiff::view(x.data(), {x.size()}));
    NUMDIFF_GRADIENT(op, "dx", numdiff::view(x.data(), {x.size()}));
    NUMDIFF_SCALAR(op, "third", 1.0 / 3);
  }
  CHECK(_mm_getcsr() == 0U);
  _mm_setcsr(before);
  const auto captures = test::captures(r.finish());
  REQUIRE(captures.size() == 3);
  CHECK(captures[0].as<capture_row>().nan == 1);
  CHECK(captures[1].as<capture_row>().pending_factor == doctest::Approx(0.07));
}

TEST_CASE("a session may be opened where exceptions trap") {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x0000);
  {
    recording r(level::tensors);
    _mm_setcsr(before);
    workload::run(n);
    CHECK(r.session().flush());
    CHECK(test::captures(r.finish()).size() == 9);
  }
  _mm_setcsr(before);
}
#endif

TEST_CASE("callers compiled with -ffast-math get the same records") {
  recording r(level::tensors);
  run_with_fast_math(100);
  const auto captures = test::captures(r.finish());
  REQUIRE(captures.size() == 2);
  const auto x = captures[0].as<capture_row>();
  CHECK((x.nan == 1 && x.positive_infinity == 1 && x.count == 100 && x.zero == 1));
  numdiff::detail::cast_row cast{};
  std::memcpy(&cast, captures[1].fields.at(numdiff::detail::field::cast).data(), sizeof cast);
  CHECK((cast.nan == 1 && cast.infinite == 1 && cast.count == 100));
}

TEST_CASE("errno stays, whatever happens inside a probe") {
  for (const bool opens : {false, true}) {
    recording r(level::tensors, [&](numdiff::session_options& o) {
      if (!opens) o.file = "/nowhere/at/all.h5";
      errno = 77;
    });
    const int opened = errno;
    errno = 78;
    workload::run(10);
    const int ran = errno;
    errno = 79;
    r.session().flush();
    r.session().close();
    const int closed = errno;
    CHECK((opened == 77 && ran == 78 && closed == 79));
  }
}

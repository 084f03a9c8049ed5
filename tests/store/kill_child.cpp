// A program that captures until it is killed: kill_child run.h5 counter captures run_id. `counter` is a
// mapped file of two u64: captures whose probe returned, and 1 when the session was closed.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "numdiff/numdiff.hpp"
#include "numdiff/session.hpp"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int file = ::open(argv[2], O_RDWR);
  void* memory = ::mmap(nullptr, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return 2;
  auto* counter = static_cast<std::atomic<std::uint64_t>*>(memory);
  const auto captures = std::strtoull(argv[3], nullptr, 10);

  numdiff::session_options o;
  o.file = argv[1];
  o.level = numdiff::level::tensors;
  o.run_id = argv[4];
  o.queue_bytes = 1 << 20;
  o.wait_ms = 60'000;
  numdiff::session s(o);
  if (!s.active()) return 3;
  static float x[3000];
  for (std::uint64_t i = 0; i < captures; ++i) {
    NUMDIFF_STEP(static_cast<std::int64_t>(i));
    // Small and large tensors, so that messages of all sizes are cut.
    const std::int64_t n = i % 7 == 0 ? 3000 : 5;
    for (std::int64_t j = 0; j < n; ++j) x[j] = static_cast<float>(i + 1);
    NUMDIFF_OP(op, "count", copy,
               numdiff::dtypes(numdiff::dtype::f32, numdiff::dtype::f32, numdiff::dtype::f32));
    NUMDIFF_OUTPUT(op, "x", numdiff::view(x, {n}));
    counter[0].store(i + 1);
  }
  if (s.statistics().dropped_captures != 0) return 4;
  s.close();
  counter[1].store(1);
  return 0;
}

// libFuzzer entry: any bytes as a run file load or are refused with store::error.
//   cmake -S . -B build/fuzz -DCMAKE_CXX_COMPILER=clang++ -DNUMDIFF_SANITIZE=fuzzer-no-link,address
//   cmake --build build/fuzz --target store_fuzzer
#include "fuzz_load.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "store/load.hpp"

namespace {

// Reads all that analysis would read.
void use(const numdiff::model::run& run) {
  using namespace numdiff;
  for (const model::rank_data& rank : run.ranks) {
    for (const model::capture_row& c : rank.captures) {
      static_cast<void>(rank.strings[c.name].size());
      if (c.histogram != -1)
        static_cast<void>(model::decode_histogram(
            std::span(rank.histograms).subspan(static_cast<std::size_t>(c.histogram), c.histogram_bytes)));
      if (c.payload == -1) continue;
      const dtype type = static_cast<dtype>(c.dtype);
      std::vector<std::byte> codes(static_cast<std::size_t>(c.count / (is_complex(type) ? 2 : 1)) *
                                   bytes_of(type));
      rank.payload->read(type, c.payload, codes);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = ::memfd_create("run", 0);
  if (file < 0) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::write(file, data, size) == static_cast<ssize_t>(size)) {
    try {
      use(numdiff::store::load_run(path, {.isolate = false}));
    } catch (const numdiff::store::error&) {
    }
  }
  ::close(file);
  return 0;
}

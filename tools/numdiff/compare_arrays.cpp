#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "analysis/arrays/array_comparison.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "report/arrays/array_json.hpp"
#include "report/arrays/array_text.hpp"
#include "store/arrays/open_arrays.hpp"
#include "store/isolate.hpp"
#include "store/load.hpp"
#include "team.hpp"

namespace numdiff::program {

namespace {

using store::file_sort;

bool of_arrays(file_sort sort) {
  return sort == file_sort::hdf5 || sort == file_sort::npz || sort == file_sort::npy;
}

// Tolerances and what selects in runs do not mix.
void check_options(const arguments& args, bool arrays) {
  const char* wrong = nullptr;
  if (arrays && !args.select.steps.empty()) wrong = "--step";
  if (arrays && !args.select.ops.empty()) wrong = "--op";
  if (arrays && !args.select.ranks.empty()) wrong = "--rank";
  if (wrong != nullptr)
    throw usage_error(
        fmt::format("usage: {} selects in runs, {} is a file of arrays: use --scope", wrong, args.files[0]));
  if (!arrays && (args.rtol > 0 || args.atol > 0 || args.max_ulp))
    throw usage_error(
        fmt::format("usage: --rtol, --atol and --max-ulp are for files of arrays, {} is a run: its formats "
                    "say what is expected",
                    args.files[0]));
}

void refuse_same(const arguments& args) {
  struct stat a {
  }, b{};
  if (::stat(args.files[0].c_str(), &a) == 0 && ::stat(args.files[1].c_str(), &b) == 0 &&
      a.st_dev == b.st_dev && a.st_ino == b.st_ino)
    throw std::runtime_error(
        fmt::format("{}: is the same file as {}: give two different files", args.files[1], args.files[0]));
}

[[noreturn]] void refuse_mixture(const arguments& args, bool first_is_arrays) {
  const std::string &run = args.files[first_is_arrays ? 1 : 0], &arrays = args.files[first_is_arrays ? 0 : 1];
  store::load_run(run);  // says what is wrong with a file that is neither
  throw std::runtime_error(fmt::format(
      "{}: is a file of arrays, {} a run of numdiff: give two runs or two files of arrays", arrays, run));
}

// Text from the child to this process: nothing is printed before all of it is there.
class relay {
 public:
  relay() : file_(::memfd_create("report", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("out of memory");
  }
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;
  ~relay() { ::close(file_); }

  void put(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::write(file_, text.data(), text.size());
      if (n <= 0) throw std::runtime_error("out of memory");
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  [[nodiscard]] std::string take() const {
    std::string text(static_cast<std::size_t>(::lseek(file_, 0, SEEK_END)), '\0');
    const ssize_t n = ::pread(file_, text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return text;
  }

 private:
  int file_;
};

exit_code answer(const arguments& args, file_sort first, file_sort second, const relay& out) {
  const auto reference = store::open_arrays(args.files[0], first);
  const auto test = store::open_arrays(args.files[1], second);
  analysis::array_options how;
  how.names = args.select.scopes;
  how.accepts = {args.rtol, args.atol, args.max_ulp};
  how.fail_on_nonfinite = args.fail_on_nonfinite;
  const analysis::array_comparison result = analysis::compare_arrays(*reference, *test, how);
  if (args.json && !args.json_file.empty()) write_file(args.json_file, report::json(result));
  out.put(args.json && args.json_file.empty() ? report::json(result) : report::text(result, style_of(args)));
  switch (result.verdict) {
    case analysis::arrays_verdict::agree: return exit_code::agree;
    case analysis::arrays_verdict::differ: return exit_code::differ;
    case analysis::arrays_verdict::incomplete: break;
  }
  return exit_code::incomplete;
}

}  // namespace

std::optional<exit_code> compare_arrays(const arguments& args, const store::team* team) {
  const file_sort first = store::sort_of(args.files[0]), second = store::sort_of(args.files[1]);
  if (of_arrays(first) != of_arrays(second)) refuse_mixture(args, of_arrays(first));
  check_options(args, of_arrays(first));
  if (!of_arrays(first)) return std::nullopt;
  if (is_helper(team)) return exit_code::agree;
  refuse_same(args);
  const relay report;
  int code = 0;
  {
    const progress shown("comparing");
    code = store::run_in_child([&] { return static_cast<int>(answer(args, first, second, report)); });
  }
  write_standard_output(report.take());
  return static_cast<exit_code>(code);
}

}  // namespace numdiff::program

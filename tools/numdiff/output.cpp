#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "store/load.hpp"
#include "team.hpp"

namespace numdiff::program {

namespace {

// 0, or the errno of the failure.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

[[noreturn]] void fail(const std::string& what, const std::string& where, int error) {
  throw std::runtime_error(fmt::format("{}: {}: {}", where, what, std::strerror(error)));
}

void write_and_close(int descriptor, const std::string& path, std::string_view text) {
  int error = write_all(descriptor, text);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) fail("cannot be written", path, error);
}

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) != 0 && !is_launched();
}

std::size_t columns() {
  winsize size{};
  if (is_terminal(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::clamp<std::size_t>(size.ws_col, 60, 160);
  return 80;
}

bool terminal_shows_colour() {
  const char* none = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  return is_terminal(STDOUT_FILENO) && (none == nullptr || *none == '\0') &&
         (kind == nullptr || std::string_view(kind) != "dumb");
}

}  // namespace

void write_standard_output(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error != 0 && error != EPIPE) fail("cannot be written", "standard output", error);
}

void write_file(const std::string& path, std::string_view text) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) fail("cannot be written", path, errno);
    write_and_close(descriptor, path, text);
    return;
  }
  const std::string aside = fmt::format("{}.{}.tmp", path, ::getpid());
  const int descriptor = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) fail("cannot be written", path, errno);
  try {
    write_and_close(descriptor, path, text);
    if (std::rename(aside.c_str(), path.c_str()) != 0) fail("cannot be written", path, errno);
  } catch (...) {
    ::unlink(aside.c_str());
    throw;
  }
}

void write_error(std::string_view message) {
  std::string line = fmt::format("numdiff: {}", message);
  std::replace(line.begin(), line.end(), '\n', ' ');
  write_all(STDERR_FILENO, line + '\n');
}

report::style style_of(const arguments& args) {
  report::style s;
  s.colour = args.colour == colour::always || (args.colour == colour::automatic && terminal_shows_colour());
  s.width = columns();
  s.top = args.top;
  return s;
}

std::vector<model::run> load(const std::vector<std::string>& paths, store::team* team) {
  const progress shown(fmt::format("reading {}", fmt::join(paths, ", ")));
  return store::load_runs(paths, {.team = team});
}

void refuse_same(const model::run& a, const model::run& b) {
  if (a.has_fingerprint && b.has_fingerprint && std::equal(a.fingerprint, a.fingerprint + 2, b.fingerprint))
    throw std::runtime_error(
        fmt::format("{}: is the same file as {}: give two different runs", b.path, a.path));
}

progress::progress(std::string_view what) : shown_(is_terminal(STDERR_FILENO)) {
  if (shown_) write_all(STDERR_FILENO, fmt::format("\r\x1b[K{} ...", what));
}

progress::~progress() {
  if (shown_) write_all(STDERR_FILENO, "\r\x1b[K");
}

}  // namespace numdiff::program

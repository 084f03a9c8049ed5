#include "store/isolate.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>

#include "store/child_process.hpp"
#include "store/error.hpp"

namespace numdiff::store {

namespace {

constexpr rlim_t cpu_seconds = 300;  // a run of 100 GB of records is read in less
constexpr time_t step_seconds = 20;  // of processor time, without a step forward
constexpr rlim_t address_space = rlim_t{4} << 30;
constexpr int threw = 100, out_of_memory = 101;  // exit codes of the child

// What the child tells its parent.
struct shared_page {
  char path[4096];
  char message[4096];
};
shared_page* page = nullptr;

void put(char (&to)[4096], const char* text) noexcept {
  const std::size_t length = ::strnlen(text, sizeof to - 1);
  std::memcpy(to, text, length);
  to[length] = '\0';
}

[[noreturn]] void run_child(const std::function<void()>& work) noexcept {
  settle_child(false);
  set_limit(RLIMIT_CPU, cpu_seconds);
  int status = 0;
  try {
    work();
  } catch (const error&) {
  } catch (const std::exception&) {
    status = 1;
  }
  ::_exit(status);
}

[[noreturn]] void refuse(int status, const std::string& path) {
  throw error(path, "", "read", end_of_child(status));
}

}  // namespace

void try_in_child(const std::string& path, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child < 0) throw error(path, "", "read", "cannot be read: no process could be started");
  if (child == 0) run_child(work);
  const int status = wait_for_child(child, path);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) refuse(status, path);
}

int run_in_child(const std::function<int()>& work) {
  void* memory =
      ::mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("out of memory");
  page = static_cast<shared_page*>(memory);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process could be started");
  if (child == 0) {
    settle_child(true);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    set_limit(RLIMIT_AS, address_space);
#endif
    int code = threw;
    try {
      code = work();
    } catch (const std::bad_alloc&) {
      code = out_of_memory;
    } catch (const std::exception& problem) {
      put(page->message, problem.what());
    }
    ::_exit(code);
  }
  const std::string nowhere = "the files";
  const int status = wait_for_child(child, nowhere);
  const shared_page told = *page;
  ::munmap(memory, sizeof(shared_page));
  page = nullptr;
  if (!WIFEXITED(status)) refuse(status, told.path[0] != '\0' ? told.path : nowhere);
  if (WEXITSTATUS(status) == threw) throw std::runtime_error(told.message);
  if (WEXITSTATUS(status) == out_of_memory) throw std::bad_alloc();
  return WEXITSTATUS(status);
}

void now_reading(const std::string& path) noexcept {
  if (page == nullptr) return;
  static std::mutex threads;
  const std::lock_guard lock(threads);
  put(page->path, path.c_str());
  allow_processor_time(step_seconds);
}

}  // namespace numdiff::store

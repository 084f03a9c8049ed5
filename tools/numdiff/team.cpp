#include "team.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "team_module.hpp"

namespace numdiff::program {

namespace {

struct launched {
  const char* number;
  const char* size;
};
// Open MPI; MPICH and its relatives.
constexpr launched launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}};

std::optional<std::size_t> number_in(const char* variable) noexcept {
  const char* text = std::getenv(variable);
  if (text == nullptr) return {};
  const std::string_view digits(text);
  std::size_t value = 0;
  const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (r.ec != std::errc() || r.ptr != digits.data() + digits.size()) return {};
  return value;
}

// What this launcher says of this process, if it started it with others.
struct seat {
  std::size_t number, size;
};
std::optional<seat> seat_by(const launched& l) noexcept {
  const auto number = number_in(l.number), size = number_in(l.size);
  if (!number || !size || *size < 2 || *number >= *size) return {};
  return seat{*number, *size};
}

// Where the module is built and where it is installed, from where this program is.
std::vector<std::string> module_places() {
  std::string self(4096, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
  self.resize(static_cast<std::size_t>(length > 0 ? length : 0));
  const std::string here = self.substr(0, self.find_last_of('/') + 1);
  return {here + "../" NUMDIFF_LIBDIR "/numdiff/libnumdiff_mpi.so", here + "../lib/libnumdiff_mpi.so"};
}

}  // namespace

bool is_launched() noexcept {
  return std::ranges::any_of(launchers, [](const launched& l) { return seat_by(l).has_value(); });
}

std::unique_ptr<store::team> launched_team() {
  for (const launched& l : launchers) {
    const std::optional<seat> here = seat_by(l);
    if (!here) continue;
    for (const std::string& place : module_places()) {
      if (::access(place.c_str(), R_OK) != 0) continue;
      void* library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);  // Open MPI's own plug-ins look there
      const auto open = library == nullptr
                            ? nullptr
                            : reinterpret_cast<open_team_function*>(::dlsym(library, open_team_name));
      if (open != nullptr) return std::unique_ptr<store::team>(open(here->number, here->size));
    }
    if (here->number > 0) ::_exit(0);  // the first one says it
    throw std::runtime_error(fmt::format(
        "{} processes were started, but this numdiff was built without MPI: start one", here->size));
  }
  return nullptr;
}

}  // namespace numdiff::program

#include "report/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace numdiff::report {

std::string exact(double value) {
  return fmt::format("{}", value);
}

std::string rounded(double value) {
  return fmt::format("{:.3g}", value);
}

std::string counted(std::uint64_t n) {
  std::string digits = fmt::format("{}", n);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string counted(std::int64_t n) {
  return n < 0 ? "-" + counted(0 - static_cast<std::uint64_t>(n)) : counted(static_cast<std::uint64_t>(n));
}

std::string counted(std::uint64_t n, const char* noun, const char* plural) {
  if (n == 1) return fmt::format("1 {}", noun);
  return plural != nullptr ? fmt::format("{} {}", counted(n), plural)
                           : fmt::format("{} {}s", counted(n), noun);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "0 %";
  if (part == whole) return "100 %";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", std::min(share, 99.9));
}

std::string bytes(std::uint64_t n) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(n);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < units.size()) {
    size /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", n) : fmt::format("{:.1f} {}", size, units[unit]);
}

}  // namespace numdiff::report

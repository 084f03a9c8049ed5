#pragma once
// Numbers as people read them. Values print so that reading them back gives the same bits.
#include <cstdint>
#include <string>

namespace numdiff::report {

std::string exact(double value);      // shortest text that reads back as the same double
std::string rounded(double value);    // three significant digits
std::string counted(std::int64_t n);  // 1,234,567
std::string counted(std::uint64_t n);
// "1 op", "2 ops": a count with its noun; `plural` where an s is not enough.
std::string counted(std::uint64_t n, const char* noun, const char* plural = nullptr);
std::string percent(std::uint64_t part, std::uint64_t whole);  // "97.5 %"; never rounds up to 100 %
std::string bytes(std::uint64_t n);                            // "1.5 MiB"

}  // namespace numdiff::report

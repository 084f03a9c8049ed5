#pragma once
// What repair and views say of a views file.
#include <fmt/format.h>

#include <string>

#include "report/number.hpp"
#include "store/views.hpp"

namespace numdiff::program {

inline std::string views_line(const store::written_views& file) {
  return fmt::format("{}: views of {}\n", file.path, report::counted(file.tensors, "tensor"));
}

}  // namespace numdiff::program

// docs/numerics.md shows the formats as the descriptors have them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "numdiff/format.hpp"

namespace {

using numdiff::format;
using numdiff::nan_codes;

std::string power(double x) {
  return fmt::format("2^{}", std::ilogb(x));
}

std::string nan_text(const format& f) {
  switch (f.nan) {
    case nan_codes::none: return "none";
    case nan_codes::ieee: return "IEEE";
    case nan_codes::all_ones: return "all ones";
    case nan_codes::negative_zero: return "the code of -0";
  }
  return "";
}

std::string row(const format& f) {
  return fmt::format("| `{}` | {} | {}/{} | {} | {:.9g} | {} | {} | 2^-{} | {} | {} | {} |",
                     numdiff::name_of(f.type), f.bits, f.exponent_bits, f.mantissa_bits, f.bias,
                     f.max_finite(), power(f.min_normal()), f.has_zero ? power(f.min_subnormal()) : "none",
                     f.precision(), f.has_infinity ? "yes" : "no", nan_text(f),
                     f.has_signed_zero ? "yes"
                     : f.has_zero      ? "no"
                                       : "no zero");
}

TEST_CASE("the table of formats is current") {
  std::ifstream file(NUMDIFF_DOCS "/numerics.md");
  std::stringstream text;
  text << file.rdbuf();
  for (std::uint16_t id = 1; id < numdiff::dtype_count; ++id) {
    const format f = numdiff::format_of(static_cast<numdiff::dtype>(id));
    if (!f.is_float() || numdiff::is_complex(f.type)) continue;
    const std::string expected = row(f);
    CAPTURE(expected);
    CHECK(text.str().find(expected) != std::string::npos);
  }
}

}  // namespace

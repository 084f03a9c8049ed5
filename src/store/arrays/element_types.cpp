#include "store/arrays/element_types.hpp"

#include "numdiff/format.hpp"

namespace numdiff::store {

using model::element_part;
using model::part_kind;

void set_real(element_part& part, std::uint64_t bytes, unsigned exponent_bits, unsigned mantissa_bits,
              std::uint64_t bias) {
  part.bytes = bytes;
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16, dtype::f8e5m2, dtype::f8e4m3fn}) {
    const numdiff::format f = format_of(type);
    if (bytes_of(type) != bytes || f.exponent_bits != exponent_bits || f.mantissa_bits != mantissa_bits ||
        static_cast<std::uint64_t>(f.bias) != bias)
      continue;
    part.kind = part_kind::real;
    part.format = type;
    part.type = name_of(type);
    return;
  }
  part.kind = part_kind::unread;
  part.type = "float" + std::to_string(bytes * 8);
  part.unread = "floating-point numbers of " + std::to_string(exponent_bits) + " exponent and " +
                std::to_string(mantissa_bits) + " mantissa bits are not read";
}

void set_extended(element_part& part, std::uint64_t bytes) {
#if __LDBL_MANT_DIG__ != 64
  part.unread = "floating-point numbers of 80 bits are read on x86 only";
  part.type = "f80";
  return;
#endif
  part.kind = part_kind::real;
  part.format = dtype::unknown;
  part.type = "f80";
  part.bytes = bytes;
}

void set_integer(element_part& part, std::uint64_t bytes, bool is_signed) {
  part.kind = part_kind::integer;
  part.bytes = bytes;
  part.is_signed = is_signed;
  part.precision = static_cast<std::uint16_t>(bytes * 8);
  part.type = (is_signed ? "i" : "u") + std::to_string(part.precision);
}

void set_boolean(element_part& part) {
  set_integer(part, 1, false);
  part.kind = part_kind::boolean;
  part.type = "bool";
}

void set_opaque(element_part& part, std::uint64_t bytes, const std::string& tag) {
  part.kind = part_kind::opaque;
  part.bytes = bytes;
  part.type = std::to_string(bytes) + " bytes" + (tag.empty() ? "" : " '" + tag + "'");
}

void set_text(element_part& part, std::uint64_t bytes, model::text_end end) {
  part.kind = part_kind::text;
  part.bytes = bytes;
  part.end = end;
  part.type = "text";
}

std::string complex_name(const element_part& real) {
  if (real.format == dtype::f32) return "c64";
  if (real.format == dtype::f64) return "c128";
  return "complex " + real.type;
}

}  // namespace numdiff::store

#include "store/arrays/hdf5_type.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "store/arrays/element_types.hpp"

namespace numdiff::store {

namespace {

using model::array_info;
using model::element_part;
using model::part_kind;

std::string text_of(char* owned) {
  std::string text = owned == nullptr ? "" : owned;
  H5free_memory(owned);
  return text;
}

void unread(element_part& part, const std::string& type, const std::string& why) {
  part.kind = part_kind::unread;
  part.type = type;
  part.unread = why;
}

void integer(hid_t type, element_part& part) {
  const std::size_t bytes = H5Tget_size(type);
  if (bytes > 8) return unread(part, "integer", "integers of more than 64 bits are not read");
  set_integer(part, bytes, H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2);
  const std::size_t precision = H5Tget_precision(type);
  const int offset = H5Tget_offset(type);
  if (precision == 0 || offset < 0 || precision + static_cast<std::size_t>(offset) > bytes * 8)
    return unread(part, "integer", "its integers have impossible bits");
  part.precision = static_cast<std::uint16_t>(precision);
  part.bit_offset = static_cast<std::uint16_t>(offset);
  part.type = (part.is_signed ? "i" : "u") + std::to_string(precision);
}

void real(hid_t type, element_part& part) {
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  const std::size_t bytes = H5Tget_size(type);
  const std::size_t bias = H5Tget_ebias(type);
  const bool known = H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
                     mantissa == 0 && exponent == mantissa_bits && sign == exponent + exponent_bits &&
                     H5Tget_offset(type) == 0;
  const H5T_norm_t norm = H5Tget_norm(type);
  if (known && norm == H5T_NORM_IMPLIED && sign == bytes * 8 - 1)
    return set_real(part, bytes, static_cast<unsigned>(exponent_bits), static_cast<unsigned>(mantissa_bits),
                    bias);
  if (known && norm == H5T_NORM_NONE && exponent_bits == 15 && mantissa_bits == 64 && bias == 16383 &&
      (bytes == 12 || bytes == 16) && !part.big_endian)
    return set_extended(part, bytes);
  unread(part, "float" + std::to_string(bytes * 8), "floating-point numbers of this layout are not read");
}

void text(hid_t type, element_part& part) {
  const bool variable = H5Tis_variable_str(type) > 0;
  const H5T_str_t padding = H5Tget_strpad(type);
  set_text(part, H5Tget_size(type),
           variable                      ? model::text_end::variable
           : padding == H5T_STR_SPACEPAD ? model::text_end::space_padding
           : padding == H5T_STR_NULLPAD  ? model::text_end::nul_padding
                                         : model::text_end::nul);
}

void opaque(hid_t type, element_part& part) {
  set_opaque(part, H5Tget_size(type), text_of(H5Tget_tag(type)));
}

std::int64_t member_value(hid_t type, hid_t base, unsigned i, const element_part& part) {
  std::byte raw[8] = {};
  if (H5Tget_member_value(type, i, raw) < 0) return 0;
  if (H5Tget_order(base) == H5T_ORDER_BE) std::reverse(raw, raw + part.bytes);
  std::uint64_t value = 0;
  std::memcpy(&value, raw, part.bytes);
  const auto unused = static_cast<unsigned>(64 - part.bytes * 8);
  return part.is_signed ? static_cast<std::int64_t>(value << unused) >> unused
                        : static_cast<std::int64_t>(value);
}

void enumeration(hid_t type, element_part& part, const h5::place& at) {
  const h5::handle base = h5::own(H5Tget_super(type), H5Tclose, at, "read");
  integer(base.get(), part);
  if (part.kind != part_kind::integer) return;
  const int count = H5Tget_nmembers(type);
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<unsigned>(i);
    part.names.emplace_back(member_value(type, base.get(), index, part),
                            text_of(H5Tget_member_name(type, index)));
  }
  std::sort(part.names.begin(), part.names.end());
  const bool boolean = part.names.size() == 2 && part.bytes == 1 &&
                       part.names[0] == std::pair{std::int64_t{0}, std::string("FALSE")} &&
                       part.names[1] == std::pair{std::int64_t{1}, std::string("TRUE")};
  if (boolean) {
    set_boolean(part);
    part.names.clear();
    return;
  }
  part.kind = part_kind::enumeration;
  std::string type_text = "enum " + part.type + " {";
  for (const auto& [value, name] : part.names)
    type_text += (type_text.back() == '{' ? "" : ", ") + name + "=" + std::to_string(value);
  part.type = type_text + "}";
}

class walker {
 public:
  explicit walker(const h5::place& at) : at_(at) {}

  // Appends the parts of `type`, whose elements begin at `offset`; returns the type's name.
  std::string walk(hid_t type, const std::string& name, std::uint64_t offset, int depth) {
    if (depth > deepest || parts.size() > most_parts)
      throw error(at_.file, at_.object, "read", "has a type of too many members");
    const H5T_class_t sort = H5Tget_class(type);
    if (sort == H5T_COMPOUND) return compound(type, name, offset, depth);
    if (sort == H5T_ARRAY) return array(type, name, offset, depth);
    element_part part;
    part.name = name;
    part.offset = offset;
    part.bytes = H5Tget_size(type);
    const bool ordered = sort == H5T_INTEGER || sort == H5T_FLOAT || sort == H5T_BITFIELD || sort == H5T_ENUM;
    const H5T_order_t order = ordered ? H5Tget_order(type) : H5T_ORDER_LE;
    part.big_endian = order == H5T_ORDER_BE;
    if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) {
      unread(part, "number", "numbers of this byte order are not read");
    } else {
      switch (sort) {
        case H5T_INTEGER:
        case H5T_BITFIELD: integer(type, part); break;
        case H5T_FLOAT: real(type, part); break;
        case H5T_STRING: text(type, part); break;
        case H5T_OPAQUE: opaque(type, part); break;
        case H5T_ENUM: enumeration(type, part, at_); break;
        case H5T_REFERENCE: unread(part, "reference", "references are not followed"); break;
        case H5T_VLEN: unread(part, "sequence", "sequences of variable length are not read"); break;
        default: unread(part, "unknown", "its type is not read"); break;
      }
    }
    parts.push_back(part);
    return part.type;
  }

  std::vector<element_part> parts;

 private:
  static constexpr int deepest = 32;

  std::string compound(hid_t type, const std::string& name, std::uint64_t offset, int depth) {
    const int count = H5Tget_nmembers(type);
    if (count < 0) h5::fail(at_, "read");
    std::string shown = "{";
    const std::size_t before = parts.size();
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      const auto index = static_cast<unsigned>(i);
      names.push_back(text_of(H5Tget_member_name(type, index)));
      const h5::handle member = h5::own(H5Tget_member_type(type, index), H5Tclose, at_, "read");
      const std::string inner = walk(member.get(), name + "." + names.back(),
                                     offset + H5Tget_member_offset(type, index), depth + 1);
      shown += (i == 0 ? "" : ", ") + names.back() + ": " + inner;
    }
    // Complex numbers, as h5py, PyTables and others write them.
    if (parts.size() == before + 2 && names == std::vector<std::string>{"r", "i"}) {
      element_part &re = parts[before], &im = parts[before + 1];
      if (re.kind == part_kind::real && re.type == im.type && re.shape.empty() && im.shape.empty()) {
        re.name = name + ".real";
        im.name = name + ".imag";
        return complex_name(re);
      }
    }
    return shown + "}";
  }

  std::string array(hid_t type, const std::string& name, std::uint64_t offset, int depth) {
    const int rank = H5Tget_array_ndims(type);
    if (rank < 1 || rank > H5S_MAX_RANK) h5::fail(at_, "read");
    std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
    if (H5Tget_array_dims2(type, extents.data()) < 0) h5::fail(at_, "read");
    const h5::handle base = h5::own(H5Tget_super(type), H5Tclose, at_, "read");
    const std::size_t before = parts.size();
    std::string shown = walk(base.get(), name, offset, depth + 1);
    std::vector<std::uint64_t> strides(extents.size(), H5Tget_size(base.get()));
    for (std::size_t d = extents.size(); d > 1; --d) strides[d - 2] = strides[d - 1] * extents[d - 1];
    for (std::size_t p = before; p < parts.size(); ++p) {
      parts[p].shape.insert(parts[p].shape.begin(), extents.begin(), extents.end());
      parts[p].strides.insert(parts[p].strides.begin(), strides.begin(), strides.end());
    }
    for (const hsize_t extent : extents) shown += "[" + std::to_string(extent) + "]";
    return shown;
  }

  const h5::place& at_;
};

}  // namespace

model::array_info parts_of(hid_t type, const h5::place& at) {
  walker w(at);
  array_info info;
  info.type = w.walk(type, "", 0, 0);
  info.element_bytes = H5Tget_size(type);
  info.parts = std::move(w.parts);
  // HDF5 checks this when it makes a type, not when it reads one.
  for (element_part& part : info.parts) {
    std::uint64_t end = part.offset + part.bytes;
    for (std::size_t d = 0; d < part.shape.size(); ++d)
      if (part.shape[d] != 0) end += (part.shape[d] - 1) * part.strides[d];
    if (part.bytes > largest_element || part.offset > largest_element || end > info.element_bytes)
      throw error(at.file, at.object, "read", "is damaged: a member lies outside its element");
  }
  if (info.element_bytes == 0 || info.element_bytes > largest_element)
    info.unread = "its elements have " + std::to_string(info.element_bytes) + " bytes";
  return info;
}

}  // namespace numdiff::store

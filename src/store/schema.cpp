#include "store/schema.hpp"

namespace numdiff::store::h5 {

namespace {

// A little-endian IEEE-like float: sign in the top bit, then exponent, then fraction.
handle small_float(std::size_t bytes, unsigned exponent_bits, unsigned fraction_bits, unsigned bias,
                   const place& at) {
  handle type = own(H5Tcopy(H5T_IEEE_F32LE), H5Tclose, at, "make a float type");
  const hid_t id = type.get();
  check(H5Tset_fields(id, exponent_bits + fraction_bits, fraction_bits, exponent_bits, 0, fraction_bits), at,
        "make a float type");
  check(H5Tset_precision(id, 1 + exponent_bits + fraction_bits), at, "make a float type");
  check(H5Tset_size(id, bytes), at, "make a float type");
  check(H5Tset_ebias(id, bias), at, "make a float type");
  return type;
}

handle copy(hid_t type, const place& at) {
  return own(H5Tcopy(type), H5Tclose, at, "copy a type");
}

handle complex(hid_t part, std::size_t bytes, const place& at) {
  handle type = own(H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose, at, "make a complex type");
  check(H5Tinsert(type.get(), "r", 0, part), at, "make a complex type");
  check(H5Tinsert(type.get(), "i", bytes, part), at, "make a complex type");
  return type;
}

template <class Row>
handle compound_of(const place& at) {
  return compound(members_of<Row>(), sizeof(Row), at);
}

}  // namespace

hid_t scalar_type(scalar s) noexcept {
  switch (s) {
    case scalar::u16: return H5T_STD_U16LE;
    case scalar::u32: return H5T_STD_U32LE;
    case scalar::u64: return H5T_STD_U64LE;
    case scalar::i32: return H5T_STD_I32LE;
    case scalar::i64: return H5T_STD_I64LE;
    case scalar::f64: return H5T_IEEE_F64LE;
  }
  return -1;
}

handle compound(const std::vector<member>& members, std::size_t bytes, const place& at) {
  handle type = own(H5Tcreate(H5T_COMPOUND, bytes), H5Tclose, at, "make a row type");
  for (const member& m : members) {
    if (m.extent == 1) {
      check(H5Tinsert(type.get(), m.name.c_str(), m.offset, scalar_type(m.type)), at, "make a row type");
    } else {
      const hsize_t extent = m.extent;
      const handle array =
          own(H5Tarray_create2(scalar_type(m.type), 1, &extent), H5Tclose, at, "make a row type");
      check(H5Tinsert(type.get(), m.name.c_str(), m.offset, array.get()), at, "make a row type");
    }
  }
  return type;
}

handle row_type(table t, const place& at) {
  switch (t) {
    case table::ops: return compound_of<detail::op_row>(at);
    case table::captures: return compound_of<detail::capture_row>(at);
    case table::casts: return compound_of<detail::cast_row>(at);
    case table::scales: return compound_of<detail::scales_row>(at);
    case table::collectives: return compound_of<detail::collective_row>(at);
    case table::events: return compound_of<detail::event_row>(at);
    case table::manifest: return compound_of<detail::manifest_row>(at);
    case table::extras: return compound_of<detail::extra_row>(at);
    case table::strings: return compound_of<string_row>(at);
    case table::shapes: return compound_of<detail::shape_row>(at);
    case table::sketches: return copy(H5T_IEEE_F64LE, at);
    case table::histograms:
    case table::string_heap:
    case table::extra_heap: return copy(H5T_STD_U8LE, at);
  }
  throw error(at.file, at.object, "make a row type", "no such table");
}

handle code_type(dtype type, const place& at) {
  switch (type) {
    case dtype::f64: return copy(H5T_IEEE_F64LE, at);
    case dtype::f32:
    case dtype::tf32: return copy(H5T_IEEE_F32LE, at);
    case dtype::bf16: return small_float(2, 8, 7, 127, at);
    case dtype::f16: return small_float(2, 5, 10, 15, at);
    case dtype::f8e5m2: return small_float(1, 5, 2, 15, at);
    case dtype::i8: return copy(H5T_STD_I8LE, at);
    case dtype::i16: return copy(H5T_STD_I16LE, at);
    case dtype::i32: return copy(H5T_STD_I32LE, at);
    case dtype::i64: return copy(H5T_STD_I64LE, at);
    case dtype::u16:
    case dtype::e5m6: return copy(H5T_STD_U16LE, at);
    case dtype::u32: return copy(H5T_STD_U32LE, at);
    case dtype::u64: return copy(H5T_STD_U64LE, at);
    case dtype::c64: return complex(H5T_IEEE_F32LE, 4, at);
    case dtype::c128: return complex(H5T_IEEE_F64LE, 8, at);
    default: return copy(H5T_STD_U8LE, at);
  }
}

}  // namespace numdiff::store::h5

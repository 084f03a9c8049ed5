#pragma once
// Arrays by name, as readers of any file format show them: what is in a file, what an element is made of, and
// its bytes as they are stored.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "numdiff/dtype.hpp"

namespace numdiff::model {

using extents = std::vector<std::uint64_t>;

// Product of the extents; false when it has more than 62 bits.
bool multiply(const extents& shape, std::uint64_t& product) noexcept;

enum class part_kind : std::uint8_t { integer, real, boolean, enumeration, text, opaque, unread };

// How the bytes of a text say where it ends. `variable`: the bytes are a `const char*`, null for "".
enum class text_end : std::uint8_t { nul, nul_padding, space_padding, variable };

// One scalar of an element: a number, a member of a compound, a part of a complex number.
struct element_part {
  std::string name;  // "" of a plain number; ".x", ".position.x", ".real"
  part_kind kind = part_kind::unread;
  std::string type;               // as it is shown and compared: "f32", "u8", "text"; not its byte order
  std::string unread;             // why it cannot be read
  dtype format = dtype::unknown;  // of a real; unknown: 80 bits, x87's extended
  std::uint64_t offset = 0;       // of the first byte in the element
  std::uint64_t bytes = 0;        // of one
  extents shape;                  // of an array inside the element, empty: one
  extents strides;                // bytes from one to the next along each dimension of it
  bool big_endian = false;
  bool is_signed = false;        // integers
  std::uint16_t precision = 0;   // integers: bits used
  std::uint16_t bit_offset = 0;  // integers: of the lowest bit used
  text_end end = text_end::nul;
  bool utf32 = false;                                       // a text of 4-byte characters
  std::vector<std::pair<std::int64_t, std::string>> names;  // of an enumeration's values
};

// Whether the two hold the same numbers by type; where they lie in the bytes does not count.
bool same_type(const element_part& a, const element_part& b) noexcept;

struct array_info {
  std::string type;   // "f32", "c64", "{x: f32, n: i64}"
  extents shape;      // empty: a scalar
  bool null = false;  // no value at all
  std::uint64_t element_bytes = 0;
  std::vector<element_part> parts;
  std::string unread;  // why nothing of it can be read, "" when it can
};

// Elements first[d] <= i[d] < first[d] + count[d].
struct box {
  extents first, count;
  [[nodiscard]] std::uint64_t size() const noexcept;
};

// How a stream is read best.
struct array_layout {
  extents chunk;                  // blocks it is stored in, empty: in one piece
  bool column_major = false;      // the first index varies fastest
  bool sequential = false;        // going back means reading from the start again
  std::uint64_t block_bytes = 0;  // memory of a block while it is read
};

// The elements of one array. A stream belongs to one thread; those of one file may be read at once.
class array_stream {
 public:
  array_stream() = default;
  array_stream(const array_stream&) = delete;
  array_stream& operator=(const array_stream&) = delete;
  virtual ~array_stream() = default;
  [[nodiscard]] virtual array_layout layout() const = 0;
  // The box in row-major order, as raw bytes; texts they point to live until the next call. False when it
  // needs more memory than a stream may take: ask for less. Throws for what cannot be read.
  [[nodiscard]] virtual bool read(const box& where, std::span<std::byte> out) = 0;
};

enum class object_kind : std::uint8_t { group, array, type, soft_link, external_link, other_link, cycle };

struct named_object {
  std::string name;  // absolute: "/layer/weight"
  object_kind kind = object_kind::array;
  std::string target;  // of a link
};

// A file with arrays by name.
class array_file {
 public:
  array_file() = default;
  array_file(const array_file&) = delete;
  array_file& operator=(const array_file&) = delete;
  virtual ~array_file() = default;

  std::string path, format;           // format: "HDF5", "npz", "npy"
  bool has_groups = false;            // groups are objects, and objects have attributes
  std::vector<named_object> objects;  // by name, ascending

  [[nodiscard]] virtual array_info describe(const std::string& array) = 0;
  [[nodiscard]] virtual std::unique_ptr<array_stream> open(const std::string& array) = 0;
  // Names of the attributes of a group, array or type, ascending; few enough, or an exception.
  [[nodiscard]] virtual std::vector<std::string> attributes(const std::string& object) = 0;
  [[nodiscard]] virtual array_info describe_attribute(const std::string& object, const std::string& name) = 0;
  [[nodiscard]] virtual std::unique_ptr<array_stream> open_attribute(const std::string& object,
                                                                     const std::string& name) = 0;
};

}  // namespace numdiff::model

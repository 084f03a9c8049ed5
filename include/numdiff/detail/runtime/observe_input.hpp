#pragma once
// What the pass over a tensor takes and gives. Everything is host memory; nothing is owned.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "numdiff/detail/rows.hpp"
#include "numdiff/dtype.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// Codes in memory. Strides in elements: 0 repeats, negative runs backwards. Packed: 4-bit codes, two a
// byte, low nibble first, element i of the array in byte i / 2.
struct strided_codes {
  const void* data = nullptr;
  numdiff::dtype type = numdiff::dtype::unknown;
  std::uint32_t rank = 0;
  std::int64_t extent[8] = {};
  std::int64_t stride[8] = {};
  bool packed = false;
};

struct flat_segment {
  std::int64_t global_begin, local_begin, length;
};

// Row-major index of an element in the global tensor. Complex tensors are mapped by elements; the parts
// of element g are 2g and 2g + 1. Elements that no segment covers, or whose id is negative, are padding:
// they count as hidden.
struct global_map {
  enum class kind { local, box, flat };  // local: the global tensor is the view
  kind is = kind::local;
  std::int64_t begin[8] = {};          // box
  std::int64_t global_extent[8] = {};  // box; 0: as the view
  int ids_dimension = -1;              // of a box: `begin` does not count there, ids[i] does
  const std::int64_t* ids = nullptr;
  const flat_segment* segments = nullptr;  // flat: in elements, no overlap in the local index
  std::size_t segment_count = 0;
};

// value = (code - zero point) * decode scale * global. Scales and zero points are dense arrays of codes,
// row-major over the blocks of the view; the last block of a dimension may be short.
struct scale_groups {
  numdiff::granularity granularity = numdiff::granularity::none;
  std::int64_t block[2] = {0, 0};  // granularity block: over the last two dimensions
  int axis = -1;                   // mx and nvfp4: the dimension of the blocks; -1 the last
  numdiff::dtype type = numdiff::dtype::f32;
  const void* scales = nullptr;
  numdiff::scale_direction direction = numdiff::scale_direction::decode;  // encode: 1 / scale is used
  double global = 1;                                                      // second level, always decode
  const void* zero_points = nullptr;                                      // null: none
  numdiff::dtype zero_point_type = numdiff::dtype::unknown;
};

// At most one is set. Hidden elements are counted and left out of everything else.
struct hidden_elements {
  const unsigned char* visible = nullptr;  // one byte an element, row-major over the view; 0 hides
  const std::int64_t* lengths =
      nullptr;            // lengths[i]: visible indices of dimension 1 in row i of dimension 0
  bool has_fill = false;  // elements whose code is that of `fill`
  double fill = 0;
};

struct observe_input {
  strided_codes tensor;
  global_map map;
  scale_groups scaling;
  hidden_elements hidden;
  const strided_codes* cast_source = nullptr;  // of the tensor's shape, before scale and cast
  numdiff::level level = numdiff::level::sketch;
};

struct observe_workspace;

// Reuse one between calls of a thread: it keeps its memory.
struct observation {
  // Statistics fields of the row, from `count` to `first_nonfinite`, and the digests, scale_count,
  // zero_point_count and sum_exponent. Every other field is left as it was.
  capture_row row{};
  bool has_sketch = false;
  double sketch[sketch_buckets] = {};
  std::vector<std::byte> histogram;  // encoded
  bool has_values = false;           // level tensors, or up to 256 elements at level sketch
  std::vector<std::byte> values;     // raw codes, row-major, one element each; hidden ones are 0
  bool has_scales = false;
  scales_row scales{};                     // without `capture` and `histogram`
  std::vector<std::byte> block_histogram;  // encoded octaves of |value| / largest of its group
  std::vector<std::byte> scale_values;     // raw codes, kept when the values are
  std::vector<std::byte> zero_points;
  bool has_cast = false;
  cast_row cast{};  // without `capture`

  std::unique_ptr<observe_workspace, void (*)(observe_workspace*)> workspace{nullptr, nullptr};
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

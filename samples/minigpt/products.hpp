#pragma once
// Matrix products with the accumulator that the run asks for, each step of it emulated bit for bit.
#include <cstdint>

#include "numdiff/dtype.hpp"
#include "options.hpp"

namespace minigpt {

// A stack of outer x inner equal matrices inside one array; strides in elements.
struct matrices {
  std::int64_t rows, columns, row_stride, column_stride;
  std::int64_t outer = 1, inner = 1, outer_stride = 0, inner_stride = 0;
  bool by_token = false;  // one matrix for each row of tokens, not for each sequence and head

  [[nodiscard]] matrices transposed() const {
    matrices m = *this;
    m.rows = columns;
    m.columns = rows;
    m.row_stride = column_stride;
    m.column_stride = row_stride;
    return m;
  }
  [[nodiscard]] bool stacked() const { return outer * inner > 1 || outer_stride != 0; }
};

// Row-major [rows, columns].
inline matrices matrix(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, columns, 1};
}
// [batch * tokens, heads * size] as a [tokens, size] matrix for each sequence and head.
inline matrices by_head(std::int64_t batch, std::int64_t tokens, std::int64_t heads, std::int64_t size) {
  return {tokens, size, heads * size, 1, batch, heads, tokens * heads * size, size};
}
// [batch, heads, rows, columns], dense.
inline matrices stack(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
  return {rows, columns, columns, 1, batch, heads, heads * rows * columns, rows * columns};
}

// Decoded elements and the format that they come from.
template <class T>
struct factor {
  const T* values;
  matrices shape;
  numdiff::dtype type;
};

// C = alpha * A * B for every matrix of the stacks. Every step of a bf16, fp16 or truncating accumulator
// rounds to that accumulator; fp32 wants T = float, the others T = double.
template <class T>
void multiply(accumulator how, const factor<T>& a, const factor<T>& b, T alpha, T* c, const matrices& mc);

}  // namespace minigpt

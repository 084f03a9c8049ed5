// ND202: a window mask and a padding mask, each filled with the lowest bf16 number, are added to the scores.
// The near miss adds two large activations, which overflow too.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 6, columns = 9;
  const bool activations = v == version::near_miss || v == version::near_miss_reference;
  const dtype t = v == version::test || v == version::near_miss ? dtype::bf16 : dtype::f64;
  const double lowest = -numdiff::format_of(dtype::bf16).max_finite();
  const array scores(dtype::bf16, {rows, columns}, normal(rows * columns, 13));
  const auto mask = [&](auto hidden) {
    return mapped(dtype::bf16, {rows, columns},
                  [&](std::size_t i) { return hidden(i / columns, i % columns) ? lowest : 0.0; });
  };
  const array window = activations ? mapped(dtype::bf16, {rows, columns},
                                            [&](std::size_t i) { return i == 17 ? -lowest : 3.0; })
                                   : mask([](std::size_t r, std::size_t c) { return c + 2 < r; });
  const array padding = activations ? window : mask([](std::size_t, std::size_t c) { return c < 2; });
  const array y =
      mapped(t, {rows, columns}, [&](std::size_t i) { return scores[i] + window[i] + padding[i]; });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "scores.mask", add, numdiff::dtypes(dtype::bf16, t, t));
  NUMDIFF_INPUT(op, "scores", scores.seen());
  NUMDIFF_INPUT(op, "window", window.seen());
  NUMDIFF_INPUT(op, "padding", padding.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd202("ND202", run, {.near_miss = "ND104", .own_reference = true});

}  // namespace

#pragma once
// With which formats, sizes and settings an op computes: the last argument of NUMDIFF_OP.
#include <cstdint>

#include "numdiff/abi.h"
#include "numdiff/dtype.hpp"
#include "numdiff/terms.hpp"
#include "numdiff/view_traits.hpp"

namespace numdiff {
inline namespace v1 {

// An accumulator narrower than its container.
struct accumulator {
  dtype type;
  std::uint16_t fraction_bits;  // kept when products are aligned, 0 as the dtype
  rounding mode;
};

// An f32 accumulator of `bits` bits with sign and exponent: bits - 9 fraction bits, toward zero.
constexpr accumulator truncating(int bits) noexcept {
  return {dtype::f32, static_cast<std::uint16_t>(bits > 9 ? bits - 9 : 0), rounding::toward_zero};
}

namespace detail {
constexpr dtype as_dtype(dtype t) noexcept {
  return t;
}
template <class Tensor, class = std::enable_if_t<has_view<Tensor>>>
dtype as_dtype(const Tensor& t) noexcept {
  return view_of(t).type();
}
constexpr accumulator as_accumulator(accumulator a) noexcept {
  return a;
}
template <class Format>
constexpr accumulator as_accumulator(const Format& f) noexcept {
  return {as_dtype(f), 0, rounding::unknown};
}
}  // namespace detail

//   numdiff::dtypes(bf16, f32, bf16).mnk(M, N, K)              // inputs, accumulate, output
//   numdiff::dtypes(e4m3, e5m2, numdiff::truncating(22), bf16)  // A, B, accumulate, output
//   numdiff::dtypes(x, f32, y)                                 // dtypes of tensors
// Everything else is optional and says what is known. Texts must live until NUMDIFF_OP returns.
class dtypes {
 public:
  template <class In, class Accumulate, class Out>
  dtypes(const In& in, const Accumulate& accumulate, const Out& out) noexcept
      : dtypes(in, in, accumulate, out) {}
  template <class InA, class InB, class Accumulate, class Out>
  dtypes(const InA& a, const InB& b, const Accumulate& accumulate, const Out& out) noexcept {
    const accumulator acc = detail::as_accumulator(accumulate);
    raw_.struct_size = sizeof raw_;
    raw_.input_dtype = static_cast<std::uint16_t>(detail::as_dtype(a));
    raw_.input2_dtype = static_cast<std::uint16_t>(detail::as_dtype(b));
    raw_.accumulate_dtype = static_cast<std::uint16_t>(acc.type);
    raw_.accumulate_bits = acc.fraction_bits;
    raw_.accumulate_rounding = static_cast<std::uint16_t>(acc.mode);
    raw_.output_dtype = static_cast<std::uint16_t>(detail::as_dtype(out));
    raw_.device = -1;
    raw_.m = raw_.n = raw_.k = raw_.batch = raw_.reduction_length = raw_.workspace = -1;
    raw_.flops = raw_.bytes = -1;
  }

  // Rows, columns and contraction length of a product.
  [[nodiscard]] dtypes mnk(index m, index n, index k) const noexcept {
    dtypes d = *this;
    d.raw_.m = m.value;
    d.raw_.n = n.value;
    d.raw_.k = k.value;
    return d;
  }
  // Independent products.
  [[nodiscard]] dtypes batch(index count) const noexcept { return with(&numdiff_op_v1::batch, count.value); }
  // Addends of each result.
  [[nodiscard]] dtypes reduction(index addends) const noexcept {
    return with(&numdiff_op_v1::reduction_length, addends.value);
  }
  // The reduction runs in `parts` whose results are kept as `partial` and then added.
  [[nodiscard]] dtypes split(index parts, dtype partial) const noexcept {
    dtypes d = with(&numdiff_op_v1::split, parts.value);
    d.raw_.partial_dtype = static_cast<std::uint16_t>(partial);
    return d;
  }
  // Every n products the accumulator is added to a wider one and cleared.
  [[nodiscard]] dtypes promote_every(index n) const noexcept {
    return with(&numdiff_op_v1::promotion, n.value);
  }
  // Rounding of the result.
  [[nodiscard]] dtypes rounding(numdiff::rounding r) const noexcept {
    return with(&numdiff_op_v1::output_rounding, r);
  }
  [[nodiscard]] dtypes order(reduction_order o) const noexcept { return with(&numdiff_op_v1::order, o); }
  // Kernel or algorithm.
  [[nodiscard]] dtypes algorithm(const char* name) const noexcept {
    return with(&numdiff_op_v1::algorithm, name);
  }
  [[nodiscard]] dtypes rng(const char* name, std::uint64_t seed, std::uint64_t offset) const noexcept {
    dtypes d = with(&numdiff_op_v1::rng, name);
    d.raw_.rng_seed = seed;
    d.raw_.rng_offset = offset;
    return d;
  }
  [[nodiscard]] dtypes workspace(index bytes) const noexcept {
    return with(&numdiff_op_v1::workspace, bytes.value);
  }
  [[nodiscard]] dtypes flops(double count) const noexcept { return with(&numdiff_op_v1::flops, count); }
  // Bytes moved, each storage once.
  [[nodiscard]] dtypes bytes(double count) const noexcept { return with(&numdiff_op_v1::bytes, count); }
  [[nodiscard]] dtypes device(int number) const noexcept { return with(&numdiff_op_v1::device, number); }
  [[nodiscard]] dtypes stream(const void* handle) const noexcept {
    return with(&numdiff_op_v1::stream, reinterpret_cast<std::uintptr_t>(handle));
  }
  // The op is node `node` of a captured graph, in its replay `replay`.
  [[nodiscard]] dtypes graph(std::uint64_t id, std::uint32_t node, std::uint32_t replay) const noexcept {
    dtypes d = with(&numdiff_op_v1::graph, id);
    d.raw_.graph_node = node;
    d.raw_.graph_replay = replay;
    return d;
  }

  [[nodiscard]] const numdiff_op_v1& raw() const noexcept { return raw_; }

 private:
  template <class Member, class Value>
  [[nodiscard]] dtypes with(Member numdiff_op_v1::*member, Value value) const noexcept {
    dtypes d = *this;
    d.raw_.*member = static_cast<Member>(value);
    return d;
  }

  numdiff_op_v1 raw_{};
};

}  // namespace v1
}  // namespace numdiff

#include "analysis/expect/emulation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "analysis/expect/judge.hpp"
#include "numdiff/truncating.hpp"

namespace numdiff::analysis::expect {
namespace {

// Rounds a double to nearest even in a format, quickly: bits of normal numbers are rounded in place.
class rounder {
 public:
  explicit rounder(const grid& g) noexcept
      : grid_(g), dropped_(53 - g.precision), normal_(std::ldexp(1.0, g.min_exponent)) {}
  double operator()(double x) const noexcept {
    const double size = std::fabs(x);
    double y = x;
    if (size < normal_) {
      y = grid_.round(x);
    } else if (dropped_ > 0) {
      auto bits = std::bit_cast<std::uint64_t>(x);
      const std::uint64_t lost = (std::uint64_t{1} << dropped_) - 1;
      bits += (lost >> 1) + ((bits >> dropped_) & 1);
      y = std::bit_cast<double>(bits & ~lost);
    }
    return std::fabs(y) > grid_.maximum ? std::copysign(std::numeric_limits<double>::infinity(), y) : y;
  }

 private:
  grid grid_;
  int dropped_;
  double normal_;
};

std::string accumulator_in(dtype t) {
  const std::string name = name_of(t);
  return (name.starts_with('f') ? "an " : "a ") + name + " accumulator";
}
std::string inputs_in(dtype t) {
  return std::string("inputs rounded to ") + name_of(t);
}
std::string partials_in(dtype t) {
  return std::string("partial sums rounded to ") + name_of(t);
}
std::string aligned_at(int bits, std::int64_t promotion) {
  return "products cut at " + std::to_string(bits) + " bits" +
         (promotion > 0 ? ", promoted every " + std::to_string(promotion) : "");
}
// The units that vendors call FP32 accumulation.
constexpr const char* aligned_wide = "products cut at 23 to 25 bits";

// Every `chunk` products, added exactly, are rounded into one of `lanes` accumulators in turn.
dot accumulated(const grid& g, std::size_t chunk, std::size_t lanes, bool rounds_products, bool reversed) {
  return [round = rounder(g), chunk, lanes, rounds_products, reversed](const double* a, const double* b,
                                                                       std::size_t stride, std::size_t k) {
    std::array<double, 32> sums{};
    double part = 0;
    std::size_t lane = 0;
    for (std::size_t q = 0; q < k; ++q) {
      const std::size_t i = reversed ? k - 1 - q : q;
      const double x = a[i] * b[i * stride];
      part += rounds_products ? round(x) : x;
      if ((q + 1) % chunk != 0 && q + 1 != k) continue;
      sums[lane] = round(sums[lane] + part);
      part = 0;
      lane = lane + 1 == lanes ? 0 : lane + 1;
    }
    double sum = sums[0];
    for (std::size_t l = 1; l < lanes; ++l) sum = round(sum + sums[l]);
    return sum;
  };
}

// Equal parts of the contraction, or every parts-th product, each rounded; their sum is wide or in the
// format.
dot from_parts(const grid& g, std::size_t parts, bool interleaved, bool narrow_sum) {
  return [round = rounder(g), parts, interleaved, narrow_sum](const double* a, const double* b,
                                                              std::size_t stride, std::size_t k) {
    const std::size_t length = (k + parts - 1) / parts;
    double sum = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t first = interleaved ? part : part * length;
      const std::size_t end = interleaved ? k : std::min(k, first + length);
      double inner = 0;
      for (std::size_t i = first; i < end; i += interleaved ? parts : 1) inner += a[i] * b[i * stride];
      sum += round(inner);
      if (narrow_sum) sum = round(sum);
    }
    return sum;
  };
}

dot of_inputs(const grid& g, rounding mode) {
  return [g, mode, round = rounder(g)](const double* a, const double* b, std::size_t stride, std::size_t k) {
    double sum = 0;
    for (std::size_t i = 0; i < k; ++i) {
      sum += mode == rounding::nearest_even ? round(a[i]) * round(b[i * stride])
                                            : g.round(a[i], mode) * g.round(b[i * stride], mode);
    }
    return sum;
  };
}

dot aligned(const product& p, const fused_dot_model& model, std::size_t promotion) {
  return [model, promotion, a_type = p.a->type, b_type = p.b->type](const double* a, const double* b,
                                                                    std::size_t stride, std::size_t k) {
    return fused_dot(model, {a_type, a, 1}, {b_type, b, static_cast<std::ptrdiff_t>(stride)}, k, promotion);
  };
}

void reduced_inputs(const call& c, const product& p, std::vector<emulation>& all) {
  const int held = std::max(grid_of(p.a->type).precision, grid_of(p.b->type).precision);
  for (const dtype t : {dtype::f32, dtype::tf32, dtype::bf16, dtype::f16, dtype::f8e4m3fn}) {
    const grid g = grid_of(t);
    if (g.precision >= held) continue;
    for (const rounding mode : {rounding::nearest_even, rounding::toward_zero}) {
      if (mode == rounding::toward_zero && t != dtype::tf32) continue;
      all.push_back({inputs_in(t), "reduced-input-precision", of_inputs(g, mode), 0x1p-24});
      if (c.wide()) all.push_back({inputs_in(t), "reduced-input-precision", of_inputs(g, mode), 0x1p-53});
    }
  }
}

void narrow_sums(const call& c, const product& p, std::vector<emulation>& all) {
  const bool scaled = p.alpha != 1 || p.addend != nullptr;
  for (const dtype t : {dtype::bf16, dtype::f16}) {
    const grid g = grid_of(t), last = scaled ? grid() : g;
    const auto sums = [&](std::size_t chunk, std::size_t lanes, bool rounds_products, bool reversed) {
      all.push_back({accumulator_in(t), "low-precision-accumulate",
                     accumulated(g, chunk, lanes, rounds_products, reversed), 0, last});
    };
    // Errors of its size in any order would fit many faults; that all results are its numbers tells.
    if (declared_accumulator(c) == accumulator_in(t) ||
        (!scaled && grid_of(p.c->type).precision > g.precision && p.c->scales.empty()))
      all.push_back({accumulator_in(t), "low-precision-accumulate", nullptr, g.unit(), last});
    sums(1, 1, false, false);
    sums(1, 1, true, false);
    sums(1, 1, false, true);
    for (const std::size_t chunk : std::initializer_list<std::size_t>{4, 8, 16, 32, 64, 128, 256}) {
      if (chunk < p.k) sums(chunk, 1, false, false);
    }
    for (const std::size_t lanes : std::initializer_list<std::size_t>{2, 4, 8, 16, 32}) {
      if (lanes < p.k) sums(1, lanes, false, false);
    }
    for (const std::size_t parts : std::initializer_list<std::size_t>{2, 3, 4, 5, 6, 8, 12, 16, 32}) {
      for (const bool interleaved : {false, true}) {
        for (const bool narrow_sum : {false, true}) {
          if (parts > p.k || (interleaved && !std::has_single_bit(parts))) continue;
          all.push_back({partials_in(t), "low-precision-partials",
                         from_parts(g, parts, interleaved, narrow_sum), 0, narrow_sum ? last : grid()});
        }
      }
    }
  }
}

void aligned_sums(const call& c, const product& p, std::vector<emulation>& all) {
  if (p.a->type == dtype::f64 || p.b->type == dtype::f64) return;
  const auto add = [&](const std::string& name, const fused_dot_model& model, std::int64_t promotion) {
    all.push_back({name, "narrow-accumulator", aligned(p, model, static_cast<std::size_t>(promotion)), 0});
  };
  // Units for 8-bit formats differ in what they keep; those for 16 bits keep 13 where they cut at all.
  const bool narrow = bytes_of(p.a->type) == 1 && bytes_of(p.b->type) == 1;
  const std::int64_t declared = c.sum().promotion;
  std::set<int> widths = {13};
  std::set<std::int64_t> promotions = {0, 128, declared};
  std::set<int> steps = {8, 16, 32};
  if (c.sum().alignment > 0) widths.insert(c.sum().alignment);
  if (narrow) {
    for (int bits = 10; bits <= 18; ++bits) widths.insert(bits);
    promotions.insert({64, 256});
    steps.insert({4, 64});
  }
  for (const int bits : widths) {
    for (const std::int64_t promotion : promotions) {
      if (promotion >= static_cast<std::int64_t>(p.k) && promotion != declared) continue;
      for (const int products : steps) {
        add(aligned_at(bits, promotion), {products, bits, std::min(bits, 23)}, promotion);
      }
    }
  }
  for (const fused_dot_model& model :
       {fused_dot_models::hopper_bf16, fused_dot_models::hopper_tf32, fused_dot_models::blackwell_fp8,
        fused_dot_models::ampere_bf16, fused_dot_models::ampere_tf32, fused_dot_models::volta_f16}) {
    add(aligned_wide, model, 0);
  }
}

}  // namespace

std::vector<emulation> emulations(const call& c, const product& p) {
  // After a factor or an addend the result is no number of the accumulator's format.
  const bool scaled = p.alpha != 1 || p.addend != nullptr;
  std::vector<emulation> all;
  all.push_back({accumulator_in(dtype::f32), c.wide() ? "low-precision-accumulate" : "", nullptr, 0x1p-24,
                 scaled ? grid() : grid_of(dtype::f32)});
  all.push_back({accumulator_in(dtype::f64), "", nullptr, 0x1p-53});
  if (output_format_of(c.op(), c.op().writes[0]).mode != rounding::toward_zero) {
    all.push_back({"an exact sum cut toward zero", "truncating-cast", nullptr, c.wide() ? 0x1p-57 : 0x1p-28,
                   grid(), true});
  }
  reduced_inputs(c, p, all);
  if (p.k > 1) {
    narrow_sums(c, p, all);
    aligned_sums(c, p, all);
  }
  const std::string declared = declared_accumulator(c);
  if (std::none_of(all.begin(), all.end(), [&](const emulation& e) { return e.accumulator == declared; })) {
    all.push_back({declared, "", nullptr, c.sum().unit(), grid()});
  }
  return all;
}

std::string declared_accumulator(const call& c) {
  const model::op_row& row = *c.op().row;
  const accumulator& sum = c.sum();
  const dtype inputs = declared_inputs(c);
  if (inputs != dtype::unknown) return inputs_in(inputs);
  const auto partials = static_cast<dtype>(row.partial_dtype);
  if (sum.split > 1 && partials != dtype::unknown && grid_of(partials).precision < sum.wide.precision)
    return partials_in(partials);
  if (sum.alignment > 0) return aligned_at(sum.alignment, sum.promotion);
  if (sum.truncates) return aligned_wide;
  const auto type = static_cast<dtype>(row.accumulate_dtype);
  if (type != dtype::unknown && !is_integer(type)) return accumulator_in(type);
  return accumulator_in(c.wide() ? dtype::f64 : dtype::f32);
}

}  // namespace numdiff::analysis::expect

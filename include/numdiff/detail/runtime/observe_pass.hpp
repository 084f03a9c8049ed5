#pragma once
// The fused pass over one tensor of a dtype known at compile time, chunk by chunk.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "numdiff/detail/runtime/observe_cast.hpp"
#include "numdiff/detail/runtime/observe_codes.hpp"
#include "numdiff/detail/runtime/observe_integers.hpp"
#include "numdiff/detail/runtime/observe_source.hpp"
#include "numdiff/detail/runtime/observe_values.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

struct no_sums {};

template <numdiff::dtype T>
class observe_pass {
 public:
  using word = code_word<T>;

  observe_pass(const observe_input& in, observation& out) noexcept
      : in_(in),
        out_(out),
        w_(*out.workspace),
        scaled_(in.scaling.granularity != granularity::none && in.scaling.scales != nullptr),
        grid_(shape_of(in.tensor), is_complex(in.tensor.type), in.scaling),
        source_(in, w_, scaled_ ? &grid_ : nullptr),
        values_(w_) {}

  void run() {
    start();
    while (!source_.ended()) {
      const int n = source_.next(out_.has_values ? &out_.values : nullptr);
      if (n > 0) take(n);
    }
    finish();
    if (scaled_) finish_scales();
  }

 private:
  static constexpr bool tabled = is_tabled<T>;
  static constexpr bool integral = format_of(T).kind == number_kind::integer && !tabled;

  void start() {
    source_.start();
    w_.octaves.clear();
    if constexpr (tabled) std::memset(w_.codes, 0, sizeof w_.codes);
    if (out_.has_sketch) w_.sketch = {};
    if (out_.has_values) {
      out_.values.reserve(static_cast<std::size_t>(source_.shape().count) * sizeof(word));
    }
    if (scaled_) w_.group_amax.assign(static_cast<std::size_t>(grid_.count()), 0);
    if (!in_.cast_source) return;
    cast_.limit[0] = limit_of(format_of(T), false);
    cast_.limit[1] = limit_of(format_of(T), true);
    const format source = format_of(in_.cast_source->type);
    if (source.is_float() && source.bits >= 16) cast_.source_maximum = source.max_finite();
    narrow_source_ = source.bits <= 32;
    out_.cast = {};
    out_.cast.source_dtype = static_cast<std::uint16_t>(in_.cast_source->type);
  }

  // Everything that is computed of n visible elements.
  void take(int n) {
    const bool all = decode(n);
    if constexpr (tabled) {
      if (!scaled_) {
        finish_chunk(n);
        return;
      }
    }
    if (all) {
      values_.take_all(n, scaled_ ? nullptr : codes());
    } else {
      values_.take_some(n);
    }
    if constexpr (integral) {
      if (!scaled_) integers_.add(codes(), n);
    }
    finish_chunk(n);
  }

  // Fills values with decoded values, counts classes; false when some elements are left out, see keep.
  bool decode(int n) {
    bool all = true;
    if constexpr (tabled) {
      const code_table& table = table_of<T>();
      const word* c = codes();
      const std::uint64_t before = nonfinite_codes(w_.codes, table);
      for (int i = 0; i < n; ++i) {
        ++w_.codes[i & 3][c[i]];
        w_.values[i] = table.value[c[i]];
      }
      if (nonfinite_codes(w_.codes, table) != before) {
        all = false;
        for (int i = 0; i < n; ++i) w_.keep[i] = table.finite[c[i]] ? included : left_nonfinite;
      }
    } else {
      all = count_wide<T>(codes(), n, counts_, w_.keep);
      decode_wide<T>(codes(), n, w_.values);
      if (!all) {
        for (int i = 0; i < n; ++i) {
          if (w_.keep[i] == left_nonfinite) w_.values[i] = 0;
        }
      }
    }
    if (scaled_) all = scale(n, all) && all;
    if (in_.cast_source) count_cast(n);
    if (!all) note_nonfinite(n);
    return all;
  }

  // Values of codes to values of the tensor; false when one is not finite.
  bool scale(int n, bool all) {
    for (int i = 0; all && i < n; ++i) w_.keep[i] = included;
    bool finite = true;
    for_groups(n, [&](int begin, int end) {
      double largest = scale_values(w_.values + begin, end - begin, zero_, decode_scale_);
      if (!all || !(largest <= std::numeric_limits<double>::max())) {
        largest = 0;
        for (int i = begin; i < end; ++i) {
          const double magnitude = std::fabs(w_.values[i]);
          if (w_.keep[i] != left_nonfinite && !(magnitude <= std::numeric_limits<double>::max())) {
            w_.keep[i] = left_nonfinite;
            finite = false;
          }
          if (w_.keep[i] == left_nonfinite) {
            w_.values[i] = 0;
          } else if (magnitude > largest) {
            largest = magnitude;
          }
        }
      }
      double& amax = w_.group_amax[static_cast<std::size_t>(group_)];
      if (largest > amax) amax = largest;
    });
    return finite;
  }

  // Calls f(begin, end) for the stretches of one group among n elements, having entered the group.
  template <class F>
  void for_groups(int n, F&& f) {
    for (int begin = 0; begin < n;) {
      const std::int64_t g = w_.group[begin];
      int end = begin + 1;
      while (end < n && w_.group[end] == g) ++end;
      if (g != group_) enter_group(g);
      f(begin, end);
      begin = end;
    }
  }

  void enter_group(std::int64_t g) noexcept {
    group_ = g;
    decode_scale_ = grid_.decode_scale(g);
    if (in_.cast_source) encode_scale_ = grid_.encode_scale(g);
    zero_ = in_.scaling.zero_points ? grid_.zero_point(g) : 0;
  }

  void count_cast(int n) {
    for (int i = 0; i < n; ++i) {
      const double x = w_.source[i];
      double y = x;
      double value = w_.values[i];
      if (scaled_) {
        if (w_.group[i] != group_) enter_group(w_.group[i]);
        y = x * encode_scale_;
        if (narrow_source_) y = static_cast<double>(static_cast<float>(y));
        y += zero_;
        if (w_.keep[i] == left_nonfinite) value = std::numeric_limits<double>::quiet_NaN();
      }
      cast_.template add<T>(out_.cast, x, y, codes()[i], value);
    }
  }

  void note_nonfinite(int n) noexcept {
    std::int64_t& first = out_.row.first_nonfinite;
    for (int r = 0, i = 0; r < source_.run_count() && i < n; i += static_cast<int>(w_.runs[r++].length)) {
      for (std::int64_t j = 0; j < w_.runs[r].length; ++j) {
        if (w_.keep[i + j] != left_nonfinite) continue;
        const std::int64_t g = w_.runs[r].global + j;
        if (first < 0 || g < first) first = g;
        break;
      }
    }
  }

  void finish_chunk(int n) noexcept {
    const digest_tables& keys = place_keys();
    for (int r = 0, i = 0; r < source_.run_count() && i < n; i += static_cast<int>(w_.runs[r++].length)) {
      const auto g = static_cast<std::uint64_t>(w_.runs[r].global);
      add_digest(codes() + i, w_.runs[r].length, g, keys, digest_);
      if (out_.has_sketch) w_.sketch.add(w_.values + i, w_.runs[r].length, g);
    }
  }

  void finish() {
    capture_row& row = out_.row;
    code_sums<T> by_code;
    if constexpr (tabled) {
      by_code.take(w_.codes, counts_);
      if (!scaled_) by_code.summarise(values_.range(), w_.octaves);
    }
    row.count = source_.shape().count;
    row.hidden = source_.hidden();
    counts_.write(row);
    values_.write(row);
    double* const sum[4] = {&row.sum, &row.sum_abs, &row.sum_sq, &row.sum_4};
    for (int p = 0; tabled && !scaled_ && p < 4; ++p) *sum[p] = by_code.sum(p);
    if constexpr (integral) {
      if (!scaled_) {
        row.sum = integers_.sum();
        row.sum_abs = integers_.sum_abs();
        if (integers_.has_squares) row.sum_sq = integers_.sum_sq();
      }
    }
    row.digest0 = digest_.sum[0];
    row.digest1 = digest_.sum[1];
    w_.octaves.encode(out_.histogram);
    if (out_.has_sketch) w_.sketch.fold(out_.sketch);
    if (in_.cast_source) out_.has_cast = true;
  }

  void finish_scales() {
    capture_row& row = out_.row;
    const scale_groups& s = in_.scaling;
    row.scale_count = grid_.count();
    const digest d = grid_.codes_digest(s.scales, s.type, in_.map);
    row.scale_digest0 = d.sum[0];
    row.scale_digest1 = d.sum[1];
    if (s.zero_points) {
      const digest z = grid_.codes_digest(s.zero_points, s.zero_point_type, in_.map);
      row.zero_point_count = grid_.count();
      row.zero_point_digest0 = z.sum[0];
      row.zero_point_digest1 = z.sum[1];
    }
    out_.has_scales = true;
    grid_.statistics(out_.scales);
    if (out_.has_values) {
      copy_codes(s.scales, s.type, out_.scale_values);
      if (s.zero_points) copy_codes(s.zero_points, s.zero_point_type, out_.zero_points);
    }
    count_relative();
  }

  void copy_codes(const void* from, numdiff::dtype type, std::vector<std::byte>& to) const {
    const auto* bytes = static_cast<const std::byte*>(from);
    to.assign(bytes, bytes + static_cast<std::size_t>(grid_.count()) * bytes_of(type));
  }

  // Goes over the tensor once more, now that the largest magnitude of each group is known.
  void count_relative() {
    w_.relative.clear();
    group_ = -1;
    source_.start();
    while (!source_.ended()) {
      const int n = source_.next(nullptr);
      decode_all<T>(codes(), n, w_.values);
      for_groups(n, [&](int begin, int end) {
        scale_values(w_.values + begin, end - begin, zero_, decode_scale_);
        const double largest = w_.group_amax[static_cast<std::size_t>(group_)];
        for (int i = begin; i < end; ++i) {
          const double magnitude = std::fabs(w_.values[i]);
          if (magnitude > 0 && magnitude <= largest) {
            w_.relative.add_octave(relative_octave(magnitude, largest), 1);
          }
        }
      });
    }
    w_.relative.encode(out_.block_histogram);
  }

  word* codes() noexcept { return source_.codes(); }

  const observe_input& in_;
  observation& out_;
  observe_workspace& w_;
  bool scaled_;
  bool narrow_source_ = false;
  scale_grid grid_;
  chunk_source<T> source_;
  std::int64_t group_ = -1;
  double decode_scale_ = 1, encode_scale_ = 1, zero_ = 0;
  class_counts counts_;
  value_statistics<T> values_;
  std::conditional_t<integral, integer_sums<T>, no_sums> integers_;
  digest digest_;
  cast_counter cast_;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

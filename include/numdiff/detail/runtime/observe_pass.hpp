#pragma once
// The fused pass over one tensor of a dtype known at compile time, chunk by chunk.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "numdiff/detail/runtime/observe_cast.hpp"
#include "numdiff/detail/runtime/observe_integers.hpp"
#include "numdiff/detail/runtime/observe_keyed.hpp"
#include "numdiff/detail/runtime/observe_scales.hpp"
#include "numdiff/detail/runtime/observe_statistics.hpp"
#include "numdiff/detail/runtime/observe_walk.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

struct observe_workspace {
  double values[observe_chunk];
  double shifted[observe_chunk];
  double source[observe_chunk];
  std::int64_t group[observe_chunk];
  std::uint64_t words[observe_chunk];
  unsigned char keep[observe_chunk];
  unsigned char visible[observe_chunk];
  global_run runs[observe_chunk];
  global_run shown[observe_chunk];
  std::uint64_t codes[4][256];
  octave_counts octaves;
  octave_counts relative;
  sketch_lanes sketch;
  std::vector<double> group_amax;
};

template <numdiff::dtype T>
class observe_pass {
 public:
  using word = code_word<T>;

  observe_pass(const observe_input& in, observation& out) noexcept
      : in_(in),
        out_(out),
        w_(*out.workspace),
        shape_(shape_of(in.tensor)),
        complex_(is_complex(in.tensor.type)),
        scaled_(in.scaling.granularity != granularity::none && in.scaling.scales != nullptr),
        grid_(shape_, complex_, in.scaling) {}

  void run() {
    start();
    for (std::int64_t done = 0; done < shape_.count; done += observe_chunk) {
      const std::int64_t rest = shape_.count - done;
      const int n = fetch(rest < observe_chunk ? static_cast<int>(rest) : observe_chunk);
      if (n > 0) take(n);
    }
    finish();
    if (scaled_) finish_scales();
  }

 private:
  static constexpr bool tabled = is_tabled<T>;
  static constexpr bool integral = format_of(T).kind == number_kind::integer && !tabled;

  word* codes() noexcept { return reinterpret_cast<word*>(w_.words); }

  void start() {
    start_memory(memory_, in_.tensor);
    map_.start(shape_, in_.map, complex_);
    visibility_.start(shape_, in_.hidden, complex_);
    if (in_.hidden.has_fill) fill_ = clean_code<T>(static_cast<word>(encode_as<T>(in_.hidden.fill)));
    may_hide_ = in_.hidden.visible || in_.hidden.lengths || in_.hidden.has_fill ||
                in_.map.is == global_map::kind::flat || in_.map.ids_dimension >= 0;
    w_.octaves.clear();
    if constexpr (tabled) std::memset(w_.codes, 0, sizeof w_.codes);
    if (out_.has_sketch) w_.sketch = {};
    if (out_.has_values) {
      out_.values.clear();
      out_.values.reserve(static_cast<std::size_t>(shape_.count) * sizeof(word));
    }
    if (scaled_) w_.group_amax.assign(static_cast<std::size_t>(grid_.count()), 0);
    if (in_.cast_source) {
      start_memory(source_memory_, *in_.cast_source);
      const format f = format_of(T);
      cast_.limit[0] = limit_of(f, false);
      cast_.limit[1] = limit_of(f, true);
      const format source = format_of(in_.cast_source->type);
      if (source.is_float() && source.bits >= 16) cast_.source_maximum = source.max_finite();
      narrow_source_ = source.bits <= 32;
      out_.cast = {};
      out_.cast.source_dtype = static_cast<std::uint16_t>(in_.cast_source->type);
    }
  }

  // Loads the next n elements and drops the hidden ones; returns how many are left.
  int fetch(int n) {
    load_codes<T>(in_.tensor, memory_, n, codes());
    if (scaled_) grid_.next(n, w_.group);
    if (in_.cast_source) load_source(n);
    bool padding = false;
    run_count_ = 0;
    for (int i = 0; i < n;) {
      const global_run r = map_.next(n - i);
      padding = padding || r.global < 0;
      w_.runs[run_count_++] = r;
      i += static_cast<int>(r.length);
    }
    const int left = may_hide_ ? drop_hidden(n, padding) : n;
    if (out_.has_values && !may_hide_) keep_values(n);
    return left;
  }

  void load_source(int n) {
    visit_dtype(in_.cast_source->type, [&](auto type) {
      using source_word = code_word<type.value>;
      source_word source[observe_chunk];
      load_codes<type.value>(*in_.cast_source, source_memory_, n, source);
      decode_all<type.value>(source, n, w_.source);
    });
  }

  void keep_values(int n) {
    const auto* bytes = reinterpret_cast<const std::byte*>(codes());
    out_.values.insert(out_.values.end(), bytes, bytes + static_cast<std::size_t>(n) * sizeof(word));
  }

  int drop_hidden(int n, bool padding) {
    for (int i = 0; i < n; ++i) w_.visible[i] = 1;
    visibility_.next(n, w_.visible);
    word* const c = codes();
    if (in_.hidden.has_fill) {
      for (int i = 0; i < n; ++i) w_.visible[i] &= static_cast<unsigned char>(c[i] != fill_);
    }
    if (padding) {
      for (int r = 0, i = 0; r < run_count_; i += static_cast<int>(w_.runs[r++].length)) {
        if (w_.runs[r].global < 0)
          std::memset(w_.visible + i, 0, static_cast<std::size_t>(w_.runs[r].length));
      }
    }
    if (out_.has_values) {
      for (int i = 0; i < n; ++i) {
        if (!w_.visible[i]) c[i] = 0;
      }
      keep_values(n);
    }
    int left = 0;
    int shown = 0;
    for (int r = 0, i = 0; r < run_count_; ++r) {
      bool open = false;
      for (std::int64_t j = 0; j < w_.runs[r].length; ++j, ++i) {
        if (!w_.visible[i]) {
          open = false;
          continue;
        }
        c[left] = c[i];
        if (scaled_) w_.group[left] = w_.group[i];
        if (in_.cast_source) w_.source[left] = w_.source[i];
        if (!open) w_.shown[shown++] = {w_.runs[r].global + j, 0};
        open = true;
        ++w_.shown[shown - 1].length;
        ++left;
      }
    }
    for (int i = 0; i < shown; ++i) w_.runs[i] = w_.shown[i];
    run_count_ = shown;
    out_.row.hidden += n - left;
    return left;
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
      take_range(range_of(w_.values, n), n);
      add_sums(n);
    } else {
      take_some(n);
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
      const std::uint64_t before = nonfinite_codes(table);
      for (int i = 0; i < n; ++i) {
        ++w_.codes[i & 3][c[i]];
        w_.values[i] = table.value[c[i]];
      }
      if (nonfinite_codes(table) != before) {
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

  std::uint64_t nonfinite_codes(const code_table& table) const noexcept {
    std::uint64_t sum = 0;
    for (int i = 0; i < table.nonfinite_count; ++i) {
      for (const auto& way : w_.codes) sum += way[table.nonfinite[i]];
    }
    return sum;
  }

  // Values of codes to values of the tensor; false when one is not finite.
  bool scale(int n, bool all) {
    for (int i = 0; all && i < n; ++i) w_.keep[i] = included;
    bool finite = true;
    for (int i = 0; i < n; ++i) {
      const std::int64_t g = w_.group[i];
      if (g != group_) enter_group(g);
      double x = w_.values[i];
      if (in_.scaling.zero_points) x -= zero_;
      x *= decode_scale_;
      if (w_.keep[i] == left_nonfinite) {
        x = 0;
      } else if (!(std::fabs(x) <= std::numeric_limits<double>::max())) {
        w_.keep[i] = left_nonfinite;
        x = 0;
        finite = false;
      }
      if (w_.keep[i] != left_nonfinite) {
        double& amax = w_.group_amax[static_cast<std::size_t>(g)];
        if (std::fabs(x) > amax) amax = std::fabs(x);
      }
      w_.values[i] = x;
    }
    return finite;
  }

  void enter_group(std::int64_t g) noexcept {
    group_ = g;
    decode_scale_ = grid_.decode_scale(g);
    encode_scale_ = grid_.encode_scale(g);
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
    for (int r = 0, i = 0; r < run_count_ && i < n; i += static_cast<int>(w_.runs[r++].length)) {
      for (std::int64_t j = 0; j < w_.runs[r].length; ++j) {
        if (w_.keep[i + j] != left_nonfinite) continue;
        const std::int64_t g = w_.runs[r].global + j;
        if (first < 0 || g < first) first = g;
        break;
      }
    }
  }

  void take_range(const value_range& r, int n) noexcept {
    range_.add(r);
    chunk_amax_ = r.amax();
    if constexpr (integral && sizeof(word) == 8) {
      if (!scaled_) {
        for (int i = 0; i < n; ++i) {
          if (codes()[i] != 0) w_.octaves.add_octave(octave_as<T>(codes()[i]), 1);
        }
        return;
      }
    }
    if (chunk_amax_ == 0) return;
    if (r.smallest < std::numeric_limits<double>::min()) {
      for (int i = 0; i < n; ++i) add_octave(w_.values[i]);
      return;
    }
    w_.octaves.touch(static_cast<int>(bits_of(r.smallest) >> 52));
    w_.octaves.touch(static_cast<int>(bits_of(chunk_amax_) >> 52));
    w_.octaves.add(w_.values, n);
  }

  void add_octave(double x) noexcept {
    if (x != 0) w_.octaves.add_octave(octave_of_bits(bits_of(x)), 1);
  }

  // A chunk of which some elements are left out of the sums.
  void take_some(int n) noexcept {
    chunk_amax_ = 0;
    for (int i = 0; i < n; ++i) {
      if (w_.keep[i] == left_nonfinite) continue;
      const double x = w_.values[i];
      range_.add(x);
      add_octave(x);
      if (w_.keep[i] == left_maximum) {
        w_.values[i] = 0;
      } else if (std::fabs(x) > chunk_amax_) {
        chunk_amax_ = std::fabs(x);
      }
    }
    add_sums(n);
  }

  void add_sums(int n) noexcept {
    for (int i = n; i % power_sums::lanes != 0; ++i) w_.values[i] = 0;
    sums_.add(w_.values, n, chunk_amax_, w_.shifted);
  }

  void finish_chunk(int n) noexcept {
    const digest_tables& keys = place_keys();
    for (int r = 0, i = 0; r < run_count_ && i < n; i += static_cast<int>(w_.runs[r++].length)) {
      const auto g = static_cast<std::uint64_t>(w_.runs[r].global);
      add_digest(codes() + i, w_.runs[r].length, g, keys, digest_);
      if (out_.has_sketch) w_.sketch.add(w_.values + i, w_.runs[r].length, g);
    }
  }

  // Tabled dtypes without scales: everything but digest and sketch follows from how often each code came.
  void count_codes() noexcept {
    const code_table& table = table_of<T>();
    constexpr format f = format_of(T);
    for (unsigned c = 0; c < 256; ++c) {
      const std::uint64_t count = w_.codes[0][c] + w_.codes[1][c] + w_.codes[2][c] + w_.codes[3][c];
      if (count == 0) continue;
      counts_[table.klass[c]] += static_cast<std::int64_t>(count);
      if (scaled_ || !table.finite[c]) continue;
      const double x = table.value[c];
      range_.add(x);
      if (x != 0) w_.octaves.add_octave(octave_as<T>(c), count);
      if constexpr (f.kind == number_kind::floating) {
        const double times = static_cast<double>(count);
        double terms[4] = {x * times, std::fabs(x) * times, x * x * times, x * x * (x * x) * times};
        NUMDIFF_DETAIL_KEEP_APART(terms);
        for (int p = 0; p < 4; ++p) code_sums_[p] += terms[p];
      } else {
        integers_.add(signed_code(static_cast<word>(c)), count);
      }
    }
  }

  static std::int64_t signed_code(word c) noexcept {
    constexpr format f = format_of(T);
    if constexpr (f.kind == number_kind::integer) return signed_integer(f, trimmed(f, c));
    return c;
  }

  void finish() {
    capture_row& row = out_.row;
    if constexpr (tabled) count_codes();
    row.count = shape_.count;
    row.nan = counts_[number_class::nan];
    row.positive_infinity = counts_[number_class::plus_infinity];
    row.negative_infinity = counts_[number_class::minus_infinity];
    row.zero = counts_[number_class::zero];
    row.negative_zero = counts_[number_class::negative_zero];
    row.subnormal = counts_[number_class::subnormal];
    row.maximum_positive = counts_[number_class::plus_maximum];
    row.maximum_negative = counts_[number_class::minus_maximum];
    const double none = std::numeric_limits<double>::quiet_NaN();
    row.amax = range_.amax();
    row.smallest = range_.smallest <= std::numeric_limits<double>::max() ? range_.smallest : 0;
    row.minimum = range_.empty() ? none : range_.minimum + 0.0;
    row.maximum = range_.empty() ? none : range_.maximum + 0.0;
    double* const sum[4] = {&row.sum, &row.sum_abs, &row.sum_sq, &row.sum_4};
    for (int p = 0; p < 4; ++p) *sum[p] = tabled && !scaled_ ? code_sums_[p] : sums_.total(p);
    row.sum_exponent = sums_.exponent();
    if (format_of(T).kind != number_kind::floating && !scaled_) {
      const double step = power_of_two(-format_of(T).mantissa_bits);
      row.sum = integers_.sum() * step;
      row.sum_abs = integers_.sum_abs() * step;
      if (integers_.has_squares) row.sum_sq = integers_.sum_sq() * (step * step);
      if (tabled) row.sum_4 = integers_.sum_4() * (step * step) * (step * step);
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
    const observation_state before{out_.row.hidden, out_.has_values};
    out_.has_values = false;
    group_ = -1;
    grid_.restart();
    start_memory(memory_, in_.tensor);
    map_.start(shape_, in_.map, complex_);
    visibility_.start(shape_, in_.hidden, complex_);
    if (in_.cast_source) start_memory(source_memory_, *in_.cast_source);
    for (std::int64_t done = 0; done < shape_.count; done += observe_chunk) {
      const std::int64_t rest = shape_.count - done;
      const int n = fetch(rest < observe_chunk ? static_cast<int>(rest) : observe_chunk);
      for (int i = 0; i < n; ++i) add_relative(w_.group[i], codes()[i]);
    }
    out_.row.hidden = before.hidden;
    out_.has_values = before.has_values;
    w_.relative.encode(out_.block_histogram);
  }

  void add_relative(std::int64_t g, word code) noexcept {
    if (g != group_) enter_group(g);
    double x = decode_as<T>(code);
    if (in_.scaling.zero_points) x -= zero_;
    x *= decode_scale_;
    if (x == 0 || !(std::fabs(x) <= std::numeric_limits<double>::max())) return;
    w_.relative.add_octave(relative_octave(x, w_.group_amax[static_cast<std::size_t>(g)]), 1);
  }

  struct observation_state {
    std::int64_t hidden;
    bool has_values;
  };

  const observe_input& in_;
  observation& out_;
  observe_workspace& w_;
  observed_shape shape_;
  bool complex_, scaled_;
  bool may_hide_ = false, narrow_source_ = false;
  scale_grid grid_;
  strided_walk memory_, source_memory_;
  global_walk map_;
  visibility_walk visibility_;
  word fill_ = 0;
  int run_count_ = 0;
  std::int64_t group_ = -1;
  double decode_scale_ = 1, encode_scale_ = 1, zero_ = 0;
  class_counts counts_;
  value_range range_;
  double chunk_amax_ = 0;
  power_sums sums_;
  double code_sums_[4] = {};
  integer_sums<T> integers_;
  digest digest_;
  cast_counter cast_;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

#pragma once
// Chunks of a tensor in row-major order, without their hidden elements: codes, runs of global indices, scale
// groups and, for casts, source values.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "numdiff/detail/runtime/observe_scales.hpp"
#include "numdiff/detail/runtime/observe_workspace.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

template <numdiff::dtype T>
class chunk_source {
 public:
  using word = code_word<T>;

  // `grid` null: no scales.
  chunk_source(const observe_input& in, observe_workspace& workspace, scale_grid* grid) noexcept
      : in_(in), w_(workspace), grid_(grid), shape_(shape_of(in.tensor)) {
    may_hide_ = in.hidden.visible || in.hidden.lengths || in.hidden.has_fill ||
                in.map.is == global_map::kind::flat || in.map.ids_dimension >= 0;
    if (in.hidden.has_fill) fill_ = clean_code<T>(static_cast<word>(encode_as<T>(in.hidden.fill)));
  }

  void start() noexcept {
    const bool complex = is_complex(in_.tensor.type);
    start_memory(memory_, in_.tensor);
    map_.start(shape_, in_.map, complex);
    visibility_.start(shape_, in_.hidden, complex);
    if (in_.cast_source) start_memory(source_memory_, *in_.cast_source);
    if (grid_) grid_->restart();
    left_ = shape_.count;
    hidden_ = 0;
  }

  // Loads up to observe_chunk elements into the workspace and appends their codes, 0 for hidden ones, to
  // `values` unless it is null. Returns how many are visible; `ended` tells the end.
  int next(std::vector<std::byte>* values) {
    const int n = left_ < observe_chunk ? static_cast<int>(left_) : observe_chunk;
    left_ -= n;
    load_codes<T>(in_.tensor, memory_, n, codes());
    if (grid_) grid_->next(n, w_.group);
    if (in_.cast_source) load_source(n);
    bool padding = false;
    run_count_ = 0;
    for (int i = 0; i < n;) {
      const global_run r = map_.next(n - i);
      padding = padding || r.global < 0;
      w_.runs[run_count_++] = r;
      i += static_cast<int>(r.length);
    }
    if (may_hide_) mark_hidden(n, padding);
    if (values) append_codes(n, *values);
    return may_hide_ ? drop_hidden(n) : n;
  }

  [[nodiscard]] bool ended() const noexcept { return left_ == 0; }
  word* codes() noexcept { return reinterpret_cast<word*>(w_.words); }
  [[nodiscard]] int run_count() const noexcept { return run_count_; }
  [[nodiscard]] const observed_shape& shape() const noexcept { return shape_; }
  // Hidden elements so far.
  [[nodiscard]] std::int64_t hidden() const noexcept { return hidden_; }

 private:
  void load_source(int n) {
    visit_dtype(in_.cast_source->type, [&](auto type) {
      using source_word = code_word<type.value>;
      source_word source[observe_chunk];
      load_codes<type.value>(*in_.cast_source, source_memory_, n, source);
      decode_all<type.value>(source, n, w_.source);
    });
  }

  void append_codes(int n, std::vector<std::byte>& values) {
    word* const c = codes();
    for (int i = 0; may_hide_ && i < n; ++i) {
      if (!w_.visible[i]) c[i] = 0;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(c);
    values.insert(values.end(), bytes, bytes + static_cast<std::size_t>(n) * sizeof(word));
  }

  void mark_hidden(int n, bool padding) noexcept {
    for (int i = 0; i < n; ++i) w_.visible[i] = 1;
    visibility_.next(n, w_.visible);
    if (in_.hidden.has_fill) {
      for (int i = 0; i < n; ++i) w_.visible[i] &= static_cast<unsigned char>(codes()[i] != fill_);
    }
    if (!padding) return;
    for (int r = 0, i = 0; r < run_count_; i += static_cast<int>(w_.runs[r++].length)) {
      if (w_.runs[r].global < 0) std::memset(w_.visible + i, 0, static_cast<std::size_t>(w_.runs[r].length));
    }
  }

  int drop_hidden(int n) noexcept {
    word* const c = codes();
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
        if (grid_) w_.group[left] = w_.group[i];
        if (in_.cast_source) w_.source[left] = w_.source[i];
        if (!open) w_.shown[shown++] = {w_.runs[r].global + j, 0};
        open = true;
        ++w_.shown[shown - 1].length;
        ++left;
      }
    }
    for (int i = 0; i < shown; ++i) w_.runs[i] = w_.shown[i];
    run_count_ = shown;
    hidden_ += n - left;
    return left;
  }

  const observe_input& in_;
  observe_workspace& w_;
  scale_grid* grid_;
  observed_shape shape_;
  strided_walk memory_, source_memory_;
  global_walk map_;
  visibility_walk visibility_;
  bool may_hide_ = false;
  word fill_ = 0;
  int run_count_ = 0;
  std::int64_t left_ = 0, hidden_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

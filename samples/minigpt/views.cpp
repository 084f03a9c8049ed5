#include "views.hpp"

namespace minigpt {
namespace {

// What the dimensions of a view are: those of the tensor, swapped in a transposed matrix, or sequences,
// heads, positions and columns.
enum class form { stored, swapped, stacked, stacked_swapped };

bool is_stack(form f) {
  return f == form::stacked || f == form::stacked_swapped;
}

numdiff::view placed_rows(numdiff::view v, const token_rows& r, int dimension, form f) {
  if (!is_stack(f))
    return v.ranges(f == form::swapped ? 1 - dimension : dimension, r.pieces.data(), r.pieces.size(),
                    r.all());
  v = v.box(0, r.first_sequence, r.all_sequences);
  if (r.positions_held() == r.length) return v;
  return v.ranges(f == form::stacked ? 2 : 3, r.positions.data(), r.positions.size(), r.length);
}

// Positions are a dimension of their own in a stack.
int dimension_of(int axis_at, const spread& s, form f) {
  if (is_stack(f) && static_cast<axis>(axis_at) == axis::cp) return f == form::stacked ? 2 : 3;
  return f == form::swapped ? 1 - s.dimension : s.dimension;
}

numdiff::view placed(numdiff::view v, const placement& p, form f) {
  for (int i = 0; i < axes; ++i) {
    const spread& s = p.on[static_cast<std::size_t>(i)];
    const char* name = axis_names[i];
    switch (s.how) {
      case spread::whole: break;
      case spread::replicated: v = v.replicated(name); break;
      case spread::partial: v = v.partial(name, numdiff::reduction::sum); break;
      case spread::average: v = v.partial(name, numdiff::reduction::average); break;
      case spread::sharded: v = v.shard(name, dimension_of(i, s, f)); break;
    }
  }
  if (p.ids) {
    const int dimension = f == form::swapped ? 1 - p.rows_dimension : p.rows_dimension;
    return v.ids(dimension, p.ids->list.data(), p.ids->list.size(), p.ids->all);
  }
  if (p.flat)
    return v.flat(p.flat->segments.data(), p.flat->segments.size(),
                  numdiff::extents(p.flat->whole.data(), static_cast<int>(p.flat->whole.size())));
  return p.rows && p.rows->count < p.rows->all() ? placed_rows(v, *p.rows, p.rows_dimension, f) : v;
}

numdiff::view scaled(const numdiff::view& v, const tensor& t) {
  const block_scales& s = t.scales;
  switch (s.how) {
    case numdiff::granularity::tensor: return v.scaled(numdiff::scale_per_tensor(s.values.data()));
    case numdiff::granularity::block:
      return v.scaled(
          numdiff::scale_block(static_cast<int>(s.rows), static_cast<int>(s.columns), s.values.data()));
    case numdiff::granularity::mx:
      return v.scaled(numdiff::scale_mx(s.codes.data()).axis(s.rows == 32 ? 0 : 1));
    default: return v;
  }
}

numdiff::view dense(const tensor& t, const shape& extents) {
  return numdiff::view(t.codes.data(), t.type,
                       numdiff::extents(extents.data(), static_cast<int>(extents.size())))
      .usage(t.usage);
}

}  // namespace

numdiff::view view_of(const tensor& t) {
  return view_as(t, t.extents);
}

numdiff::view view_as(const tensor& t, const shape& extents) {
  return placed(scaled(dense(t, extents), t), t.place, extents.size() == 4 ? form::stacked : form::stored);
}

numdiff::view choices_first(const tensor& t) {
  const std::int64_t tokens = t.extents[0], k = t.extents[1], d = t.extents[2];
  placement p = t.place;
  for (spread& s : p.on)
    if (s.how == spread::sharded) s.dimension = 1;
  p.rows_dimension = 1;
  return placed(dense(t, {k, tokens, d}).strides({d, k * d, 1}), p, form::stored);
}

numdiff::view view_of(const tensor& t, const matrices& m) {
  const bool swapped = m.column_stride != 1;
  if (m.stacked())
    return placed(dense(t, {m.outer, m.inner, m.rows, m.columns})
                      .strides({m.outer_stride, m.inner_stride, m.row_stride, m.column_stride}),
                  t.place,
                  m.by_token ? form::stored
                  : swapped  ? form::stacked_swapped
                             : form::stacked);
  return placed(scaled(dense(t, {m.rows, m.columns}).strides({m.row_stride, m.column_stride}), t), t.place,
                swapped ? form::swapped : form::stored);
}

}  // namespace minigpt

#include "views.hpp"

namespace minigpt {
namespace {

// Sharded dimensions of the sample's views are those of its tensors, or swapped in a transposed matrix.
numdiff::view placed(numdiff::view v, const placement& p, bool swapped) {
  const auto on_axis = [&](const char* axis, const spread& s) {
    switch (s.how) {
      case spread::whole: return v;
      case spread::replicated: return v.replicated(axis);
      case spread::partial: return v.partial(axis, numdiff::reduction::sum);
      case spread::sharded: return v.shard(axis, swapped ? 1 - s.dimension : s.dimension);
    }
    return v;
  };
  v = on_axis("dp", p.dp);
  v = on_axis("tp", p.tp);
  return v;
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
  return placed(scaled(dense(t, extents), t), t.place, false);
}

numdiff::view view_of(const tensor& t, const matrices& m) {
  if (m.stacked())
    return placed(dense(t, {m.outer, m.inner, m.rows, m.columns})
                      .strides({m.outer_stride, m.inner_stride, m.row_stride, m.column_stride}),
                  t.place, false);
  const bool swapped = m.column_stride != 1;
  return placed(scaled(dense(t, {m.rows, m.columns}).strides({m.row_stride, m.column_stride}), t), t.place,
                swapped);
}

}  // namespace minigpt

#include "quantize.hpp"

#include "numdiff/quantize.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

// The encode scale of delayed scaling: from the largest amax of the last steps, or of this one at first.
float delayed_scale(const engine& e, const std::string& name, float amax, float maximum) {
  delayed_state& s = e.delayed[std::to_string(e.layer) + name];
  const numdiff::amax_history history{s.amax, delayed_state::length};
  const bool first = s.encode_scale == 0;
  const float scale = first ? numdiff::encode_scale(amax, maximum) : s.encode_scale;
  history.observe(amax);
  s.encode_scale = history.next_encode_scale(scale, maximum);
  // The fault stale-amax: the history is that of a time when values were 16 times smaller.
  return name == "attn.x" && e.faulty("stale-amax") ? 16 * scale : scale;
}

numdiff::recipe recipe_of(const engine& e, const quantize_request& r, dtype type, float given_scale) {
  const bool columns = r.contraction == 0;
  switch (e.config.fp8) {
    case fp8_recipe::block:
      return r.weight ? numdiff::recipe_block(type, 128, 128)
                      : numdiff::recipe_block(type, columns ? 128 : 1, columns ? 1 : 128);
    case fp8_recipe::mx: {
      numdiff::recipe mx = numdiff::recipe_mx(type, numdiff::mx_rule::rceil);
      if (columns) std::swap(mx.block_rows, mx.block_columns);
      return mx;
    }
    default: break;
  }
  numdiff::recipe whole = numdiff::recipe_tensor(type);
  whole.given_encode_scale = given_scale;
  return whole;
}

tensor transpose(const tensor& x) {
  tensor t(x.type, {x.columns(), x.rows()}, x.place);
  for (spread& s : t.place.on)
    if (s.how == spread::sharded) s.dimension = 1 - s.dimension;
  t.place.rows_dimension = 1 - x.place.rows_dimension;
  const std::size_t size = numdiff::bytes_of(x.type);
  for (std::int64_t i = 0; i < x.rows(); ++i)
    for (std::int64_t j = 0; j < x.columns(); ++j)
      for (std::size_t b = 0; b < size; ++b)
        t.codes[static_cast<std::size_t>(j * x.rows() + i) * size + b] =
            x.codes[static_cast<std::size_t>(i * x.columns() + j) * size + b];
  return t;
}

// Tells numdiff of the largest magnitude, from which the scale of a whole tensor follows.
void tell_amax(const engine& e, const quantize_request& r, const numdiff::view& source, float amax) {
  NUMDIFF_OP(op, (r.name + ".amax").c_str(), amax, numdiff::dtypes(source.type(), e.real, dtype::f32));
  NUMDIFF_INPUT(op, "x", source);
  NUMDIFF_OUTPUT(op, "amax", numdiff::view(&amax, {}));
}

}  // namespace

tensor quantize(const engine& e, const tensor& x, const quantize_request& r) {
  const bool whole = e.config.fp8 == fp8_recipe::tensor || e.config.fp8 == fp8_recipe::delayed;
  const dtype type = r.backward && whole ? dtype::f8e5m2 : dtype::f8e4m3fn;
  const matrices plain = matrix(x.rows(), x.columns());
  numdiff::view source = r.transposed ? view_of(x, plain.transposed()) : view_of(x, plain);
  if (r.factors == carries::loss_scale) source = source.carries_factors();

  tensor y = r.transposed ? transpose(x) : x;
  const std::vector<float> values = decode<float>(y);
  float given_scale = 0;
  if (whole) {
    const float amax = numdiff::amax_of(values.data(), values.size());
    tell_amax(e, r, source, amax);
    if (e.config.fp8 == fp8_recipe::delayed)
      given_scale = delayed_scale(e, r.name, amax, type == dtype::f8e4m3fn ? 448.0F : 57344.0F);
  }
  const numdiff::recipe recipe = recipe_of(e, r, type, given_scale);
  const numdiff::quantized q = numdiff::quantize(values.data(), static_cast<std::size_t>(y.rows()),
                                                 static_cast<std::size_t>(y.columns()), recipe);
  y.type = type;
  y.codes.assign(reinterpret_cast<const std::byte*>(q.codes.data()),
                 reinterpret_cast<const std::byte*>(q.codes.data() + q.codes.size()));
  y.usage = r.contraction == 1 ? numdiff::usage::rowwise : numdiff::usage::columnwise;
  y.scales = {recipe.per, static_cast<std::int64_t>(q.block_rows), static_cast<std::int64_t>(q.block_columns),
              q.decode_scales, q.scale_codes};

  NUMDIFF_OP(op, (r.name + ".cast").c_str(), cast, numdiff::dtypes(x.type, e.real, type));
  NUMDIFF_INPUT(op, "x", source);
  const numdiff::view made = view_of(y);
  NUMDIFF_CAST(op, "y", source, r.factors == carries::loss_scale ? made.carries_factors() : made);
  return y;
}

}  // namespace minigpt

#include <limits>

#include "kernels.hpp"
#include "ops.hpp"
#include "views.hpp"

#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"

namespace minigpt {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// Which of all positions those of this rank see: what is before them in their document.
tensor visible_positions(const engine& e) {
  const std::int64_t all = e.config.sequence, document = e.config.document;
  placement place = e.everywhere();
  if (e.world.size(axis::cp) > 1) place[axis::cp] = {spread::sharded, 0};
  place.rows = make_rows(0, 1, 1, all, e.product_rows()->positions);
  tensor visible(dtype::boolean, {place.rows->count, all}, place);
  std::size_t i = 0;
  for (const std::int64_t t : place.rows->ids())
    for (std::int64_t s = 0; s < all; ++s)
      visible.codes[i++] = std::byte(s <= t && (document == 0 || t / document == s / document));
  return visible;
}

}  // namespace

tensor rope(const engine& e, const std::string& name, const tensor& x, const tensor& positions,
            carries factors) {
  const bool backward = factors == carries::loss_scale;
  const std::int64_t heads = e.local_heads(), size = x.columns() / heads, tokens = x.rows();
  tensor y = like(x, e.storage);
  std::vector<double> at = decode<double>(positions);
  if (!backward && e.faulty("bf16-positions"))
    for (double& p : at) p = numdiff::decode_as<dtype::bf16>(numdiff::encode_as<dtype::bf16>(p));
  const double sign = backward ? -1 : 1;
  with_real(e, [&]<class T>() {
    const std::vector<T> in = decode<T>(x);
    std::vector<T> out(in.size());
    kernels::rope(tokens, heads, size, at.data(), rope_base, sign, in.data(), out.data());
    encode(out, y);
  });
  NUMDIFF_OP(op, name.c_str(), rope, numdiff::dtypes(x.type, e.real, y.type));
  const numdiff::view seen = view_as(x, {tokens, heads, size}), made = view_as(y, {tokens, heads, size});
  NUMDIFF_INPUT(op, "x", backward ? seen.carries_factors() : seen);
  NUMDIFF_INPUT(op, "positions", view_of(positions));
  NUMDIFF_SCALAR(op, "base", rope_base);
  NUMDIFF_SCALAR(op, "sign", sign);
  if (backward)
    NUMDIFF_GRADIENT(op, "y", made);
  else
    NUMDIFF_OUTPUT(op, "y", made);
  return y;
}

tensor mask(const engine& e, const std::string& name, const tensor& scores) {
  tensor masked = like(scores, e.storage);
  const tensor visible = visible_positions(e);
  const auto keys = static_cast<std::size_t>(visible.columns()), places = visible.codes.size();
  const auto lost = static_cast<std::size_t>(visible.rows() / 2);  // the row that masked-row hides
  with_real(e, [&]<class T>() {
    std::vector<T> x = decode<T>(scores);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (visible.codes[i % places] == std::byte(0) || (i / keys == lost && e.faulty("masked-row")))
        x[i] = T(minus_infinity);
    encode(x, masked);
  });
  NUMDIFF_OP(op, name.c_str(), mask, numdiff::dtypes(scores.type, e.real, masked.type));
  NUMDIFF_INPUT(op, "x", view_of(scores));
  NUMDIFF_INPUT(op, "visible", view_of(visible));
  NUMDIFF_OUTPUT(op, "y", view_of(masked));
  return masked;
}

tensor softmax(const engine& e, const std::string& name, const tensor& scores) {
  const std::int64_t n = scores.extents.back();
  tensor p = like(scores, e.storage);
  with_real(e, [&]<class T>() {
    const std::vector<T> x = decode<T>(scores);
    std::vector<T> y(x.size());
    kernels::softmax(scores.count() / n, n, x.data(), y.data());
    encode(y, p);
  });
  NUMDIFF_OP(op, name.c_str(), softmax, numdiff::dtypes(scores.type, e.real, p.type));
  NUMDIFF_INPUT(op, "x", view_of(scores));
  NUMDIFF_OUTPUT(op, "y", view_of(p));
  return p;
}

tensor softmax_gradient(const engine& e, const std::string& name, const tensor& dp, const tensor& p) {
  const std::int64_t n = p.extents.back();
  tensor dx = like(p, e.storage);
  with_real(e, [&]<class T>() {
    const std::vector<T> dy = decode<T>(dp), y = decode<T>(p);
    std::vector<T> out(y.size());
    kernels::softmax_gradient(p.count() / n, n, dy.data(), y.data(), out.data());
    encode(out, dx);
  });
  NUMDIFF_OP(op, name.c_str(), softmax_gradient, numdiff::dtypes(dp.type, p.type, e.real, dx.type));
  NUMDIFF_INPUT(op, "dp", view_of(dp).carries_factors());
  NUMDIFF_INPUT(op, "p", view_of(p));
  NUMDIFF_GRADIENT(op, "dx", view_of(dx));
  return dx;
}

}  // namespace minigpt

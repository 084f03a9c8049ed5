#include "kernels.hpp"
#include "ops.hpp"
#include "views.hpp"

#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"

namespace minigpt {
namespace {

constexpr const char* term_names[] = {"x1", "x2", "x3", "x4"};

tensor added(const engine& e, const std::string& name, std::initializer_list<const tensor*> terms,
             carries factors, bool truncate) {
  const bool gradient = factors == carries::loss_scale;
  const tensor& first = **terms.begin();
  NUMDIFF_OP(op, name.c_str(), add, numdiff::dtypes(first.type, e.real, first.type));
  int i = 0;
  for (const tensor* x : terms) {
    const numdiff::view seen = view_of(*x);
    NUMDIFF_INPUT(op, term_names[i], gradient ? seen.carries_factors() : seen);
    ++i;
  }
  tensor y = like(first, first.type);
  with_real(e, [&]<class T>() {
    std::vector<T> sum = decode<T>(first);
    for (auto x = terms.begin() + 1; x != terms.end(); ++x) {
      const std::vector<T> more = decode<T>(**x);
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += more[k];
    }
    if (truncate)  // the fault truncating-residual, in bf16 whatever the format
      for (T& v : sum)
        v = static_cast<T>(numdiff::decode_as<dtype::bf16>(
            numdiff::encode_as<dtype::bf16>(v, {numdiff::rounding::toward_zero, {}})));
    encode(sum, y);
  });
  if (gradient)
    NUMDIFF_GRADIENT(op, "y", view_of(y));
  else
    NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

}  // namespace

tensor add(const engine& e, const std::string& name, std::initializer_list<const tensor*> terms,
           carries factors) {
  return added(e, name, terms, factors, false);
}

tensor residual(const engine& e, const std::string& name, const tensor& x, const tensor& y) {
  return added(e, name, {&x, &y}, carries::nothing,
               e.faulty("truncating-residual") && name == "attn.residual");
}

tensor swiglu(const engine& e, const std::string& name, const tensor& gate, const tensor& up) {
  tensor y = like(gate, e.storage);
  with_real(e, [&]<class T>() {
    const std::vector<T> g = decode<T>(gate), u = decode<T>(up);
    std::vector<T> out(g.size());
    kernels::swiglu(gate.count(), g.data(), u.data(), out.data());
    encode(out, y);
  });
  NUMDIFF_OP(op, name.c_str(), swiglu, numdiff::dtypes(gate.type, e.real, y.type));
  NUMDIFF_INPUT(op, "gate", view_of(gate));
  NUMDIFF_INPUT(op, "up", view_of(up));
  NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

swiglu_gradients swiglu_gradient(const engine& e, const std::string& name, const tensor& dy,
                                 const tensor& gate, const tensor& up) {
  swiglu_gradients g{like(gate, e.storage), like(up, e.storage)};
  with_real(e, [&]<class T>() {
    const std::vector<T> upstream = decode<T>(dy), a = decode<T>(gate), b = decode<T>(up);
    std::vector<T> da(a.size()), db(b.size());
    kernels::swiglu_gradient(gate.count(), upstream.data(), a.data(), b.data(), da.data(), db.data());
    encode(da, g.dgate);
    encode(db, g.dup);
  });
  NUMDIFF_OP(op, name.c_str(), swiglu_gradient, numdiff::dtypes(dy.type, e.real, g.dup.type));
  NUMDIFF_INPUT(op, "dy", view_of(dy).carries_factors());
  NUMDIFF_INPUT(op, "gate", view_of(gate));
  NUMDIFF_INPUT(op, "up", view_of(up));
  NUMDIFF_GRADIENT(op, "dgate", view_of(g.dgate));
  NUMDIFF_GRADIENT(op, "dup", view_of(g.dup));
  return g;
}

tensor cast(const engine& e, const std::string& name, const tensor& x, dtype type, carries factors) {
  tensor y = like(x, type);
  with_real(e, [&]<class T>() { encode(decode<T>(x), y); });
  NUMDIFF_OP(op, name.c_str(), cast, numdiff::dtypes(x.type, e.real, type));
  const bool gradient = factors == carries::loss_scale;
  const numdiff::view source = gradient ? view_of(x).carries_factors() : view_of(x);
  NUMDIFF_INPUT(op, "x", source);
  NUMDIFF_CAST(op, "y", source, gradient ? view_of(y).carries_factors() : view_of(y));
  return y;
}

}  // namespace minigpt

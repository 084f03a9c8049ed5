#include "ops.hpp"
#include "random.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

// Elements of this rank's rows, by their place in the whole batch.
tensor mask_of(const engine& e, const std::string& branch, const tensor& x) {
  std::uint64_t seed = e.config.seed;
  for (const char c : branch) seed = seed * 131 + static_cast<std::uint64_t>(c);
  seed = (seed * 1009 + static_cast<std::uint64_t>(e.step)) * 1009 + static_cast<std::uint64_t>(e.layer);
  // The fault unrestored-rng: the second forward pass goes on where the first one stopped.
  if (e.recomputing && e.faulty("unrestored-rng")) seed += 0x9e3779b9;
  const double rate = e.config.dropout;
  std::vector<double> kept;
  for (const numdiff::segment& rows : x.place.rows->pieces) {
    random_stream random(seed);
    const std::int64_t row = e.micro_batch * e.sequences() * e.config.sequence + rows.global_begin;
    random.skip(static_cast<std::uint64_t>(row * x.columns()));
    for (std::int64_t i = 0; i < rows.length * x.columns(); ++i)
      kept.push_back(random.uniform() < rate ? 0 : 1 / (1 - rate));
  }
  tensor mask = like(x, e.storage);
  encode(kept, mask);
  return mask;
}

}  // namespace

tensor dropout(const engine& e, const std::string& name, const std::string& branch, tensor x,
               carries factors) {
  if (e.config.dropout == 0) return x;
  const bool gradient = factors == carries::loss_scale;
  const tensor mask = mask_of(e, branch, x);
  tensor y = like(x, e.storage);
  with_real(e, [&]<class T>() {
    std::vector<T> out = decode<T>(x);
    const std::vector<T> kept = decode<T>(mask);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] *= kept[i];
    encode(out, y);
  });
  NUMDIFF_OP(op, name.c_str(), multiply, numdiff::dtypes(x.type, e.real, y.type));
  NUMDIFF_INPUT(op, "x", gradient ? view_of(x).carries_factors() : view_of(x));
  NUMDIFF_INPUT(op, "mask", view_of(mask));
  if (gradient)
    NUMDIFF_GRADIENT(op, "y", view_of(y));
  else
    NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

}  // namespace minigpt

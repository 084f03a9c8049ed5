#include <algorithm>
#include <numeric>

#include "ops.hpp"
#include "views.hpp"

namespace minigpt {

top_choices top_k(const engine& e, const std::string& name, const tensor& x, std::int64_t k) {
  const std::int64_t rows = x.rows(), n = x.columns();
  top_choices best{tensor(dtype::i32, {rows, k}, x.place), tensor(x.type, {rows, k}, x.place)};
  with_real(e, [&]<class T>() {
    const std::vector<T> in = decode<T>(x);
    std::vector<T> places, values;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      const auto value = [&](std::int64_t i) { return in[static_cast<std::size_t>(r * n + i)]; };
      std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return value(a) > value(b); });
      for (std::int64_t i = 0; i < k; ++i) {
        places.push_back(T(order[static_cast<std::size_t>(i)]));
        values.push_back(value(order[static_cast<std::size_t>(i)]));
      }
    }
    encode(places, best.places);
    encode(values, best.values);
  });
  NUMDIFF_OP(op, name.c_str(), top_k, numdiff::dtypes(x.type, e.real, x.type));
  NUMDIFF_INPUT(op, "x", view_of(x));
  NUMDIFF_OUTPUT(op, "places", view_of(best.places));
  NUMDIFF_OUTPUT(op, "values", view_of(best.values));
  return best;
}

tensor one_hot(const engine& e, const tensor& places, std::int64_t n) {
  tensor y(e.storage, {places.rows(), places.columns(), n}, places.place);
  with_real(e, [&]<class T>() {
    std::vector<T> values(static_cast<std::size_t>(y.count()));
    std::size_t row = 0;
    for (const T at : decode<T>(places))
      values[row++ * static_cast<std::size_t>(n) + static_cast<std::size_t>(at)] = 1;
    encode(values, y);
  });
  return y;
}

tensor sum_choices(const engine& e, const std::string& name, const tensor& x) {
  const std::int64_t tokens = x.extents[0], k = x.extents[1], d = x.extents[2];
  tensor y(x.type, {tokens, d}, x.place);
  with_real(e, [&]<class T>() {
    const std::vector<T> in = decode<T>(x);
    std::vector<T> sum(static_cast<std::size_t>(y.count()));
    for (std::int64_t t = 0; t < tokens; ++t)
      for (std::int64_t i = 0; i < k * d; ++i)
        sum[static_cast<std::size_t>(t * d + i % d)] += in[static_cast<std::size_t>(t * k * d + i)];
    encode(sum, y);
  });
  NUMDIFF_OP(op, name.c_str(), sum, numdiff::dtypes(x.type, e.real, y.type).reduction(k));
  NUMDIFF_INPUT(op, "x", choices_first(x).carries_factors());
  NUMDIFF_GRADIENT(op, "y", view_of(y));
  return y;
}

}  // namespace minigpt

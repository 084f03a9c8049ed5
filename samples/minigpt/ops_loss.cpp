#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels.hpp"
#include "ops.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

const std::int32_t* integers(const tensor& t) {
  return reinterpret_cast<const std::int32_t*>(t.codes.data());
}

}  // namespace

tensor embedding(const engine& e, const tensor& ids, const tensor& table) {
  NUMDIFF_OP(op, "embedding", embedding, numdiff::dtypes(table.type, table.type, table.type));
  NUMDIFF_INPUT(op, "ids", view_of(ids));
  NUMDIFF_WEIGHT(op, "table", view_of(table));
  tensor y(table.type, {ids.count(), table.columns()}, e.residual());
  const std::size_t row = table.codes.size() / static_cast<std::size_t>(table.rows());
  for (std::int64_t t = 0; t < ids.count(); ++t)
    std::memcpy(y.codes.data() + static_cast<std::size_t>(t) * row,
                table.codes.data() + static_cast<std::size_t>(integers(ids)[t]) * row, row);
  NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

tensor embedding_gradient(const engine& e, const tensor& ids, const tensor& dy, const shape& table) {
  NUMDIFF_OP(op, "embedding.gradient", embedding_gradient, numdiff::dtypes(dy.type, e.real, e.storage));
  NUMDIFF_INPUT(op, "ids", view_of(ids));
  NUMDIFF_INPUT(op, "dy", view_of(dy).carries_factors());
  tensor dtable(e.storage, table, e.gradient(-1));
  const std::int64_t d = table[1];
  with_real(e, [&]<class T>() {
    const std::vector<T> upstream = decode<T>(dy);
    std::vector<T> sum(static_cast<std::size_t>(dtable.count()));
    for (std::int64_t t = 0; t < ids.count(); ++t)
      for (std::int64_t i = 0; i < d; ++i)
        sum[static_cast<std::size_t>(integers(ids)[t] * d + i)] +=
            upstream[static_cast<std::size_t>(t * d + i)];
    encode(sum, dtable);
  });
  NUMDIFF_GRADIENT(op, "dtable", view_of(dtable));
  return dtable;
}

tensor cross_entropy(const engine& e, const tensor& logits, const tensor& targets) {
  const auto count = double(logits.rows());
  NUMDIFF_OP(op, "loss", cross_entropy, numdiff::dtypes(logits.type, e.real, e.real));
  NUMDIFF_INPUT(op, "logits", view_of(logits));
  NUMDIFF_INPUT(op, "targets", view_of(targets));
  NUMDIFF_SCALAR(op, "count", count);
  tensor loss(e.real, {}, e.mean());
  with_real(e, [&]<class T>() {
    const std::vector<T> x = decode<T>(logits);
    encode(std::vector<T>{kernels::cross_entropy(logits.rows(), logits.columns(), x.data(), integers(targets),
                                                 T(count))},
           loss);
  });
  NUMDIFF_OUTPUT(op, "loss", view_of(loss));
  return loss;
}

tensor cross_entropy_gradient(const engine& e, const tensor& logits, const tensor& targets) {
  const double count = double(e.sequences() * e.config.sequence);
  NUMDIFF_OP(op, "loss.gradient", cross_entropy_gradient, numdiff::dtypes(logits.type, e.real, e.storage));
  NUMDIFF_INPUT(op, "logits", view_of(logits));
  NUMDIFF_INPUT(op, "targets", view_of(targets));
  NUMDIFF_SCALAR(op, "count", count);
  NUMDIFF_SCALAR(op, "factor", e.loss_scale);
  tensor dlogits = like(logits, e.storage);
  const double factor = e.fault.now("missing-loss-scale", e.step) ? 1 : e.loss_scale;
  with_real(e, [&]<class T>() {
    const std::vector<T> x = decode<T>(logits);
    std::vector<T> dx(x.size());
    kernels::cross_entropy_gradient(logits.rows(), logits.columns(), x.data(), integers(targets), T(count),
                                    T(factor), dx.data());
    encode(dx, dlogits);
  });
  NUMDIFF_GRADIENT(op, "dlogits", view_of(dlogits));
  return dlogits;
}

double top_k_share(const engine& e, const tensor& logits, const tensor& targets, std::int64_t k) {
  const std::int64_t tokens = logits.rows(), width = logits.columns();
  NUMDIFF_OP(op, "top_k", top_k, numdiff::dtypes(logits.type, e.real, logits.type));
  NUMDIFF_INPUT(op, "logits", view_of(logits));
  NUMDIFF_SCALAR(op, "k", k);
  tensor ids(dtype::i32, {tokens, k}, logits.place), largest(logits.type, {tokens, k}, logits.place);
  std::int64_t hits = 0;
  with_real(e, [&]<class T>() {
    const std::vector<T> x = decode<T>(logits);
    std::vector<std::int32_t> order(static_cast<std::size_t>(width));
    std::vector<T> values;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const T* row = x.data() + t * width;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(),
                        [&](std::int32_t a, std::int32_t b) { return row[a] > row[b]; });
      hits += std::count(order.begin(), order.begin() + k, integers(targets)[t]);
      std::copy_n(order.data(), k, reinterpret_cast<std::int32_t*>(ids.codes.data()) + t * k);
      for (std::int64_t i = 0; i < k; ++i) values.push_back(row[order[static_cast<std::size_t>(i)]]);
    }
    encode(values, largest);
  });
  NUMDIFF_OUTPUT(op, "ids", view_of(ids));
  NUMDIFF_OUTPUT(op, "values", view_of(largest));
  return double(hits) / double(tokens);
}

}  // namespace minigpt

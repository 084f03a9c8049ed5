#include "ranks/mlp.hpp"

#include <algorithm>
#include <cmath>

namespace numdiff::testing {

namespace {

using reproduce::array;
using matrix = std::vector<double>;

// x [rows, inner] times w [inner, columns], added one by one in f32 where the run is f32 or narrower.
matrix product(const matrix& x, const matrix& w, std::int64_t rows, std::int64_t inner,
               std::int64_t columns) {
  matrix y(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < inner; ++k)
        sum += static_cast<float>(x[static_cast<std::size_t>(i * inner + k)]) *
               static_cast<float>(w[static_cast<std::size_t>(k * columns + j)]);
      y[static_cast<std::size_t>(i * columns + j)] = sum;
    }
  }
  return y;
}

matrix columns_of(const matrix& all, std::int64_t width, std::int64_t begin, std::int64_t end) {
  matrix part;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(width))
    part.insert(part.end(), all.begin() + static_cast<std::ptrdiff_t>(i) + begin,
                all.begin() + static_cast<std::ptrdiff_t>(i) + end);
  return part;
}

// What one rank of the stack holds and does; with rank -1 nothing is recorded.
class stack {
 public:
  stack(const mlp& how, std::int32_t rank) : how_(how), rank_(rank) {}

  void run() {
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(forward);
    matrix x = rounded(reproduce::normal(mlp::tokens * mlp::hidden, 1));
    for (int layer = 0; layer < how_.layers; ++layer) {
      const std::string scope = "decoder.layer." + std::to_string(layer) + ".mlp";
      NUMDIFF_SCOPE(scope.c_str());
      x = run_layer(layer, x);
    }
  }

 private:
  [[nodiscard]] matrix rounded(const matrix& v) const {
    return array(how_.type, {static_cast<std::int64_t>(v.size())}, v).values();
  }
  void write(int layer, const char* op, std::int32_t rank, std::int64_t first, std::int64_t width,
             matrix& values) const {
    if (how_.spoil) how_.spoil({layer, op, rank, first, width, values});
    values = rounded(values);
  }
  [[nodiscard]] array held(const matrix& values, std::int64_t columns) const {
    return {how_.type, {static_cast<std::int64_t>(values.size()) / columns, columns}, values};
  }

  // What `rank` adds to the layer's output; recorded when it is this process's own rank.
  matrix share_of(int layer, const matrix& x, std::int32_t rank) {
    const std::int64_t begin = mlp::inner * rank / how_.ranks, end = mlp::inner * (rank + 1) / how_.ranks;
    const std::int64_t width = end - begin;
    const auto seed = static_cast<std::uint64_t>(10 * (layer + 1));
    const matrix up =
        rounded(columns_of(reproduce::normal(mlp::hidden * mlp::inner, seed, 0.15), mlp::inner, begin, end));
    const matrix all_down = reproduce::normal(mlp::inner * mlp::hidden, seed + 1, 0.1);
    const matrix down =
        rounded({all_down.begin() + begin * mlp::hidden, all_down.begin() + end * mlp::hidden});
    matrix h = product(x, up, mlp::tokens, mlp::hidden, width);
    write(layer, "fc1", rank, begin, width, h);
    matrix a(h.size());
    std::ranges::transform(h, a.begin(), [](double v) { return v / (1 + std::exp(-v)); });
    write(layer, "act", rank, begin, width, a);
    matrix y = product(a, down, mlp::tokens, width, mlp::hidden);
    write(layer, "fc2", rank, 0, mlp::hidden, y);
    if (rank != rank_) return y;

    const array seen_x = held(x, mlp::hidden), seen_up = held(up, width), seen_h = held(h, width),
                seen_a = held(a, width), seen_down = held(down, mlp::hidden), seen_y = held(y, mlp::hidden);
    const numdiff::dtypes types(how_.type, dtype::f32, how_.type);
    const auto over = [](const array& v, int dim, std::int64_t first, std::int64_t all) {
      return v.seen().shard("tp", dim).box(dim, first, all);
    };
    {
      NUMDIFF_OP(op, "fc1", matmul,
                 numdiff::dtypes(types)
                     .mnk(mlp::tokens, width, mlp::hidden)
                     .order(numdiff::reduction_order::sequential));
      NUMDIFF_INPUT(op, "x", seen_x.seen().replicated("tp"));
      NUMDIFF_WEIGHT(op, "w", over(seen_up, 1, begin, mlp::inner));
      NUMDIFF_OUTPUT(op, "y", over(seen_h, 1, begin, mlp::inner));
    }
    {
      NUMDIFF_OP(op, "act", silu, types);
      NUMDIFF_INPUT(op, "x", over(seen_h, 1, begin, mlp::inner));
      NUMDIFF_OUTPUT(op, "y", over(seen_a, 1, begin, mlp::inner));
    }
    NUMDIFF_OP(op, "fc2", matmul,
               numdiff::dtypes(types)
                   .mnk(mlp::tokens, mlp::hidden, width)
                   .order(numdiff::reduction_order::sequential));
    NUMDIFF_INPUT(op, "x", over(seen_a, 1, begin, mlp::inner));
    NUMDIFF_WEIGHT(op, "w", over(seen_down, 0, begin, mlp::inner));
    NUMDIFF_OUTPUT(op, "y", seen_y.seen().partial("tp", numdiff::reduction::sum));
    return y;
  }

  matrix run_layer(int layer, const matrix& x) {
    std::vector<matrix> shares;
    for (std::int32_t r = 0; r < how_.ranks; ++r) shares.push_back(share_of(layer, x, r));
    matrix sum = shares.front();
    for (std::int32_t r = 1; r < how_.ranks; ++r) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += shares[static_cast<std::size_t>(r)][i];
      sum = rounded(sum);
    }
    write(layer, "reduce", rank_, 0, mlp::hidden, sum);
    if (how_.ranks > 1 && rank_ >= 0) {
      const array own = held(shares[static_cast<std::size_t>(rank_)], mlp::hidden),
                  y = held(sum, mlp::hidden);
      NUMDIFF_OP(op, "reduce", all_reduce,
                 numdiff::dtypes(how_.type, how_.type, how_.type).order(numdiff::reduction_order::ring));
      NUMDIFF_COLLECTIVE(
          op, numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::sum)
                  .communicator("tp")
                  .sequence(layer)
                  .size(how_.ranks)
                  .count(mlp::tokens * mlp::hidden)
                  .wire(how_.type)
                  .algorithm("ring"));
      NUMDIFF_INPUT(op, "x", own.seen().partial("tp", numdiff::reduction::sum));
      NUMDIFF_OUTPUT(op, "y", y.seen().replicated("tp"));
    }
    matrix z(x.size());
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = x[i] + sum[i];
    write(layer, "residual", rank_, 0, mlp::hidden, z);
    const array seen_x = held(x, mlp::hidden), seen_y = held(sum, mlp::hidden), seen_z = held(z, mlp::hidden);
    NUMDIFF_OP(op, "residual", add, numdiff::dtypes(how_.type, dtype::f32, how_.type));
    NUMDIFF_INPUT(op, "x", seen_x.seen().replicated("tp"));
    NUMDIFF_INPUT(op, "y", seen_y.seen().replicated("tp"));
    NUMDIFF_OUTPUT(op, "z", seen_z.seen().replicated("tp"));
    return z;
  }

  const mlp& how_;
  std::int32_t rank_;
};

}  // namespace

reproduce::program mlp::program() const {
  return [how = *this](numdiff::session& session, std::int32_t rank) {
    session.mesh("tp", how.ranks, rank);
    stack(how, rank).run();
  };
}

std::vector<double> mlp::honest(int layer, const std::string& op) const {
  mlp how = *this;
  std::vector<double> all;
  how.spoil = [&](const written& w) {
    if (w.layer != layer || w.op != op) return;
    const std::int64_t columns = op == "fc1" || op == "act" ? inner : hidden;
    all.resize(static_cast<std::size_t>(tokens * columns));
    for (std::size_t i = 0; i < w.values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      all[static_cast<std::size_t>(at / w.width * columns + w.first + at % w.width)] = w.values[i];
    }
  };
  stack(how, -1).run();
  return all;
}

}  // namespace numdiff::testing

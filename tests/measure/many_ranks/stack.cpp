#include "measure/many_ranks/stack.hpp"

#include <cmath>
#include <utility>

namespace many_ranks {

namespace {

// In [-1, 1), from where a number stands.
float noise(std::uint64_t stream, std::uint64_t at) {
  std::uint64_t h = stream * 0x9e3779b97f4a7c15U + at * 0xbf58476d1ce4e5b9U;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9U;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebU;
  return static_cast<float>(h >> 40) * 0x1p-23F - 1.0F;
}

enum stream : std::uint64_t { of_batch = 1, of_up = 1000, of_down = 2000, of_gradient = 3000 };

matrix drawn(std::uint64_t stream, std::int64_t count, float scale) {
  matrix m(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = scale * noise(stream, i);
  return m;
}

// c[m x n] += a[m x k] b[k x n]; `lda`, `ldb` columns in memory.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
              const float* b, std::int64_t ldb, float* c) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l) {
      const float x = a[i * lda + l];
      for (std::int64_t j = 0; j < n; ++j) c[i * n + j] += x * b[l * ldb + j];
    }
}

matrix normed(const matrix& x) {
  matrix y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    float squares = 0;
    for (std::size_t i = row; i < row + width; ++i) squares += x[i] * x[i];
    const float scale = 1 / std::sqrt(squares / static_cast<float>(width) + 1e-6F);
    for (std::size_t i = row; i < row + width; ++i) y[i] = x[i] * scale;
  }
  return y;
}

// y^T g, where g is what a loss would send back: noise, the same for a token in every layout and step.
matrix weight_gradient(const matrix& y, std::int64_t first_row, std::uint64_t stream) {
  const auto rows = static_cast<std::int64_t>(y.size()) / width;
  matrix sum(static_cast<std::size_t>(width * inner)), back(static_cast<std::size_t>(inner));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < inner; ++j)
      back[static_cast<std::size_t>(j)] =
          0.01F * noise(stream, static_cast<std::uint64_t>((first_row + i) * inner + j));
    multiply(width, inner, 1, y.data() + i * width, 1, back.data(), inner, sum.data());
  }
  return sum;
}

}  // namespace

stack::stack(const job& shape) : shape_(shape) {
  for (std::int64_t l = 0; l < shape.layers; ++l) {
    const auto n = static_cast<std::uint64_t>(l);
    up_.push_back(drawn(of_up + n, width * inner, 0.2F));
    down_.push_back(drawn(of_down + n, inner * width, 0.03F));
  }
  for (std::int64_t step = 0; step < shape.steps; ++step) {
    gradients_.resize(at(step + 1, 0), matrix(static_cast<std::size_t>(width * inner)));
    for (std::int32_t d = 0; d < shape.dp; ++d) {
      const std::vector<layer_values> values = replica(step, d);
      for (std::int64_t l = 0; l < shape.layers; ++l) {
        const matrix& term = values[static_cast<std::size_t>(l)].gradient;
        matrix& sum = gradients_[at(step, l)];
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
      }
    }
    for (std::int64_t l = 0; l < shape.layers; ++l) {
      matrix next = up_[at(step, l)];
      const bool twice = shape.twice >= 0 && step >= shape.twice && l == shape.layers / 2;
      for (std::size_t i = 0; i < next.size(); ++i)
        next[i] -= (twice ? 0.002F : 0.001F) * gradients_[at(step, l)][i];
      up_.push_back(std::move(next));
    }
  }
}

const matrix& stack::up(std::int64_t step, std::int64_t layer) const {
  return up_[at(step, layer)];
}

const matrix& stack::gradient(std::int64_t step, std::int64_t layer) const {
  return gradients_[at(step, layer)];
}

std::vector<layer_values> stack::replica(std::int64_t step, std::int32_t number) const {
  const std::int64_t rows = shape_.rows(), columns = shape_.columns();
  std::vector<layer_values> layers(static_cast<std::size_t>(shape_.layers));
  matrix x(static_cast<std::size_t>(rows * width));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = noise(of_batch, static_cast<std::uint64_t>(number) * x.size() + i);
  for (std::int64_t l = 0; l < shape_.layers; ++l) {
    layer_values& v = layers[static_cast<std::size_t>(l)];
    v.x = x;
    v.y = normed(x);
    v.u.resize(static_cast<std::size_t>(rows * inner));
    multiply(rows, inner, width, v.y.data(), width, up(step, l).data(), inner, v.u.data());
    v.r.resize(x.size());
    for (std::int32_t t = 0; t < shape_.tp; ++t) {
      matrix& z = v.z.emplace_back(x.size());
      multiply(rows, width, columns, v.u.data() + t * columns, inner, down(l).data() + t * columns * width,
               width, z.data());
      for (std::size_t i = 0; i < z.size(); ++i) v.r[i] += z[i];
    }
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += v.r[i];
    v.out = x;
    v.gradient = weight_gradient(v.y, number * rows, of_gradient + static_cast<std::uint64_t>(l));
  }
  return layers;
}

}  // namespace many_ranks

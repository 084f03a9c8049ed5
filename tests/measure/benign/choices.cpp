// Ops that choose: rounding may make a run take others than the reference, each right for what it read.
#include <algorithm>
#include <numeric>

#include "measure/benign/losses.hpp"

namespace benign {
namespace {

// The places of the k largest of each row, the largest first.
values largest(const tensor& scores, std::size_t k) {
  const auto n = static_cast<std::size_t>(scores.last());
  values where;
  std::vector<std::size_t> order(n);
  for (std::size_t row = 0; row < scores.size(); row += n) {
    std::iota(order.begin(), order.end(), row);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    for (std::size_t j = 0; j < k; ++j) where.push_back(static_cast<double>(order[j] - row));
  }
  return where;
}

// Experts of each token and their scores.
void route(program& p, const tensor& scores) {
  const std::int64_t tokens = scores.extents[0], k = 2;
  const auto n = static_cast<std::size_t>(scores.last());
  const values where = largest(scores, k);
  values top(where.size());
  for (std::size_t i = 0; i < top.size(); ++i)
    top[i] = scores[i / k * n + static_cast<std::size_t>(where[i])];
  recorded("top_k", "top_k", p.formats())
      .in("scores", scores)
      .scalar("k", static_cast<double>(k))
      .out("experts", stored(dtype::i32, {tokens, k}, where))
      .out("values", p.result({tokens, k}, top));
}

// The first place where the running sum of a row exceeds its random number.
void draw(program& p, const tensor& probabilities) {
  const std::int64_t tokens = probabilities.extents[0];
  const auto n = static_cast<std::size_t>(probabilities.last());
  values u(static_cast<std::size_t>(tokens)), ids(u.size());
  for (double& v : u) v = static_cast<double>(p.between(0, 9999)) / 10000;
  in_inner(p, [&]<class A>() {
    for (std::size_t row = 0; row < u.size(); ++row) {
      A sum = 0;
      std::size_t i = 0;
      while (i + 1 < n && (sum += static_cast<A>(probabilities[row * n + i])) <= static_cast<A>(u[row])) ++i;
      ids[row] = static_cast<double>(i);
    }
    return 0;
  });
  recorded("sample", "sample", p.formats())
      .in("p", probabilities)
      .in("u", stored(dtype::f32, {tokens}, u))
      .out("ids", stored(dtype::i32, {tokens}, ids));
}

}  // namespace

void choices(program& p) {
  const auto scope = numdiff::scoped::name("choices");
  const shape s = {p.how.rows, 16};
  const tensor scores = p.source(s);
  route(p, scores);
  recorded("argmax", "argmax", p.formats())
      .in("scores", scores)
      .out("ids", stored(dtype::i32, {s[0]}, largest(scores, 1)));
  const tensor probabilities =
      p.result(s, in_inner(p, [&]<class A>() { return softmax<A>(p, scores, A(1)); }));
  recorded("softmax", "softmax", p.formats().reduction(s[1])).in("x", scores).out("p", probabilities);
  draw(p, probabilities);

  const shape wide = {p.how.batch * p.how.rows, p.how.width};
  const tensor x = p.source(wide), dy = p.source(wide, 0.02);
  recorded("relu", "relu", p.formats())
      .in("x", x)
      .out("y", p.result(wide, p.mapped([](auto a) { return a > 0 ? a : 0; }, x)));
  recorded("relu_gradient", "relu_gradient", p.formats())
      .in("dy", dy)
      .in("x", x)
      .gradient("dx", p.result(wide, p.mapped([](auto g, auto a) { return a > 0 ? g : 0; }, dy, x)));
}

}  // namespace benign

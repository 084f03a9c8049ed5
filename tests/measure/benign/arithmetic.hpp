#pragma once
// Sums as honest kernels make them: the same addends in another order, with and without fused multiply-adds.
#include <cmath>
#include <cstddef>
#include <vector>

#include "measure/benign/setting.hpp"

namespace benign {

struct adding {
  order_of order = order_of::index;
  std::size_t pieces = 1;
  bool fused = false;
};

namespace detail {

template <class A, class Add>
A halves(std::size_t first, std::size_t count, const Add& add) {
  if (count <= 2) {
    A s = 0;
    for (std::size_t i = first; i < first + count; ++i) s = add(s, i);
    return s;
  }
  const std::size_t half = count / 2;
  return halves<A>(first, half, add) + halves<A>(first + half, count - half, add);
}

}  // namespace detail

// The sum of n addends; add(s, i) is s plus addend i.
template <class A, class Add>
A sum_by(const adding& how, std::size_t n, const Add& add) {
  switch (how.order) {
    case order_of::reversed: {
      A s = 0;
      for (std::size_t i = n; i > 0; --i) s = add(s, i - 1);
      return s;
    }
    case order_of::halves: return detail::halves<A>(0, n, add);
    case order_of::lanes:
    case order_of::threads: {
      std::vector<A> parts(how.pieces, A(0));
      const std::size_t stretch = (n + how.pieces - 1) / how.pieces;
      for (std::size_t i = 0; i < n; ++i) {
        A& part = parts[how.order == order_of::lanes ? i % how.pieces : i / stretch];
        part = add(part, i);
      }
      A s = parts[0];
      for (std::size_t p = 1; p < parts.size(); ++p) s += parts[p];
      return s;
    }
    default: {
      A s = 0;
      for (std::size_t i = 0; i < n; ++i) s = add(s, i);
      return s;
    }
  }
}

template <class A, class F>
A sum_of(const adding& how, std::size_t n, const F& addend) {
  return sum_by<A>(how, n, [&](A s, std::size_t i) { return s + addend(i); });
}

template <class A, class F, class G>
A dot_of(const adding& how, std::size_t n, const F& f, const G& g) {
  if (how.fused) return sum_by<A>(how, n, [&](A s, std::size_t i) { return std::fma(f(i), g(i), s); });
  return sum_by<A>(how, n, [&](A s, std::size_t i) {
    const A product = f(i) * g(i);
    return s + product;
  });
}

}  // namespace benign

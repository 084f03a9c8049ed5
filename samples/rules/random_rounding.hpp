#pragma once
// Stochastic rounding: up with the probability of what is left over.
#include <cstdint>

#include "array.hpp"

namespace reproduce {

class random_rounding {
 public:
  explicit random_rounding(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
  double operator()(numdiff::dtype type, double x) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t random = state_ ^ (state_ >> 29U);
    return numdiff::decode(type, numdiff::encode(type, x, {numdiff::rounding::stochastic}, random));
  }

 private:
  std::uint64_t state_;
};

}  // namespace reproduce

#pragma once
// The same numbers on every machine: SplitMix64 (Steele, Lea and Flood, 2014) and a normal from Box and
// Muller.
#include <cmath>
#include <cstdint>

namespace minigpt {

class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += step;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // As if that many numbers had been drawn.
  void skip(std::uint64_t numbers) { state_ += numbers * step; }
  // In [0, 1).
  double uniform() { return double(bits() >> 11) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15;
  std::uint64_t state_;
};

}  // namespace minigpt

#pragma once
// Two blocks of numbers against each other, in one pass of vector code.
#include <cstddef>
#include <cstdint>

namespace numdiff::analysis {

// What is added up over a block. Errors are in double, ulps exact.
struct block_sums {
  double sum = 0, squares = 0, reference_squares = 0;  // of test - reference; of the reference
  double largest_reference = 0;                        // magnitude
  double worst = 0, worst_zero = 0;
  double worst_relative = 0;  // of floats: at least that, at most a millionth more
  std::uint64_t worst_ulp = 0;
  std::uint64_t different = 0, outside = 0, against_zero = 0, zero_signs = 0;
  bool finite = true;  // all are; otherwise nothing else holds
};

// What a pair may be apart; used when `active`.
struct block_limits {
  bool active = false, by_ulps = false;
  double relative = 0, absolute = 0;
  std::uint64_t ulps = 0;
};

// Codes as stored (sign and magnitude), and their values; `count` is a multiple of 8. Code is an unsigned
// integer of 1, 2, 4 or 8 bytes, Real float or double.
template <class Code, class Real>
block_sums sum_block(const Code* reference_codes, const Code* test_codes, const Real* reference,
                     const Real* test, std::size_t count, const block_limits& limits) noexcept;

// The worst relative error of finite floats, exactly; `count` is a multiple of 4.
double worst_relative(const float* reference, const float* test, std::size_t count) noexcept;

// Sum of the squares of the finite ones, and how many there are of them.
template <class Real>
double finite_squares(const Real* values, std::size_t count, std::uint64_t& finite) noexcept;

}  // namespace numdiff::analysis

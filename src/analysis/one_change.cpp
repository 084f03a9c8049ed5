#include "analysis/one_change.hpp"

#include <bit>
#include <cstddef>

#include "numdiff/detail/digest.hpp"

namespace numdiff::analysis {

namespace {

// Of an odd number, modulo 2^64: each step doubles the bits that are right.
constexpr std::uint64_t inverse(std::uint64_t odd) noexcept {
  std::uint64_t x = odd;
  for (int i = 0; i < 5; ++i) x *= 2 - odd * x;
  return x;
}

struct place_tables {
  std::array<std::array<std::uint64_t, 256>, 3> key, inverse_key;
};

const place_tables& places() {
  static const place_tables tables = [] {
    place_tables t{};
    for (int k = 0; k < 3; ++k) {
      for (std::uint64_t place = 0; place < 256; ++place) {
        const auto table = static_cast<std::size_t>(k);
        t.key[table][place] = detail::digest_place_key(k, place);
        t.inverse_key[table][place] = inverse(t.key[table][place]);
      }
    }
    return t;
  }();
  return tables;
}

// Whether a change of a 32-bit half by `low` turns into one by `turned` when the half's 16-bit halves are
// swapped. A carry between them leaves two possibilities.
bool turns_into(std::int64_t low, std::int64_t turned) noexcept {
  constexpr std::int64_t half = 1 << 16;
  const std::int64_t below = low & (half - 1);
  for (const std::int64_t lower : {below, below - half})
    if (lower * half + (low - lower) / half == turned) return true;
  return false;
}

// What half a code can change by lies strictly between -span and span.
constexpr std::int64_t span = std::int64_t{1} << 32;

bool in_span(std::uint64_t change) noexcept {
  return change + (span - 1) < 2 * static_cast<std::uint64_t>(span) - 1;
}

}  // namespace

std::optional<changed_element> one_change(const std::array<std::uint64_t, 2>& difference, std::int64_t count,
                                          dtype type) {
  constexpr std::int64_t most = std::int64_t{1} << 28;
  if (count <= 0 || count > most || (difference[0] == 0 && difference[1] == 0)) return std::nullopt;
  const place_tables& tables = places();
  const std::size_t halves = bytes_of(type) / (is_complex(type) ? 2 : 1) > 4 ? 2 : 1;
  for (std::int64_t first = 0; first < count; first += 256) {
    const auto block = static_cast<std::uint64_t>(first / 256);
    const std::uint64_t one = difference[0] * inverse(detail::digest_block_key(0, block)),
                        two = difference[1] * inverse(detail::digest_block_key(1, block));
    for (std::size_t half = 0; half < halves; ++half) {
      const auto &of_one = tables.inverse_key[half], &of_two = tables.inverse_key[half + 1];
      bool any = false;  // hardly ever
      for (std::size_t place = 0; place < 256; ++place) any |= in_span(one * of_one[place]);
      if (!any) continue;
      for (std::size_t place = 0; place < 256 && first + static_cast<std::int64_t>(place) < count; ++place) {
        const std::uint64_t change = one * of_one[place], turned = two * of_two[place];
        if (change == 0 || !in_span(change) || !in_span(turned)) continue;
        const auto by = static_cast<std::int64_t>(change);
        if (!turns_into(by, static_cast<std::int64_t>(turned))) continue;
        const auto size = static_cast<std::uint64_t>(by < 0 ? -by : by);
        const int bit = std::has_single_bit(size) ? std::countr_zero(size) + 32 * static_cast<int>(half) : -1;
        return changed_element{first + static_cast<std::int64_t>(place), bit};
      }
    }
  }
  return std::nullopt;
}

}  // namespace numdiff::analysis

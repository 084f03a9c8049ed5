#include "analysis/one_change.hpp"

#include <bit>

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

// The changes of one half of a code by which one sum of the digests changes: all that fit 33 bits.
std::optional<std::int64_t> change_of(std::uint64_t by_key, std::uint64_t inverse_key) noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 32;
  const auto change = static_cast<std::int64_t>(by_key * inverse_key);
  if (change == 0 || change <= -most || change >= most) return std::nullopt;
  return change;
}

}  // namespace

std::optional<changed_element> one_change(const std::array<std::uint64_t, 2>& difference, std::int64_t count,
                                          dtype type) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (count <= 0 || count > most || (difference[0] == 0 && difference[1] == 0)) return std::nullopt;
  const place_tables& tables = places();
  const std::size_t halves = bytes_of(type) / (is_complex(type) ? 2 : 1) > 4 ? 2 : 1;
  for (std::int64_t first = 0; first < count; first += 256) {
    const auto block = static_cast<std::uint64_t>(first / 256);
    const std::uint64_t in_block[2] = {difference[0] * inverse(detail::digest_block_key(0, block)),
                                       difference[1] * inverse(detail::digest_block_key(1, block))};
    const auto here = static_cast<std::size_t>(count - first < 256 ? count - first : 256);
    for (std::size_t half = 0; half < halves; ++half) {
      for (std::size_t place = 0; place < here; ++place) {
        const auto change = change_of(in_block[0], tables.inverse_key[half][place]);
        if (!change) continue;
        const auto turned = change_of(in_block[1], tables.inverse_key[half + 1][place]);
        if (!turned || !turns_into(*change, *turned)) continue;
        const auto size = static_cast<std::uint64_t>(*change < 0 ? -*change : *change);
        const int bit = std::has_single_bit(size) ? std::countr_zero(size) + 32 * static_cast<int>(half) : -1;
        return changed_element{first + static_cast<std::int64_t>(place), bit};
      }
    }
  }
  return std::nullopt;
}

}  // namespace numdiff::analysis

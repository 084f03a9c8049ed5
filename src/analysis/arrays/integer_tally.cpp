// Integers, booleans and enumerations: differences in 128 bits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "analysis/arrays/number_tally.hpp"

namespace numdiff::analysis {

namespace {

std::string decimal(wide value) {
  std::string digits;
  do digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  while ((value /= 10) != 0);
  return digits;
}

// Native integers, or those with unused bits.
template <class Integer>
struct native {
  explicit native(const model::element_part&) {}
  Integer operator()(const std::byte* bytes) const noexcept {
    Integer value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
};
struct packed {
  explicit packed(const model::element_part& part) : part_(&part) {}
  wide operator()(const std::byte* bytes) const noexcept { return integer_at(*part_, bytes); }

 private:
  const model::element_part* part_;
};

class integer_tally final : public number_tally {
 public:
  explicit integer_tally(const compared_parts& parts) : number_tally(parts), tolerant_(parts.accepts.any()) {
    tolerated_ =
        parts.reference.kind == model::part_kind::integer && parts.test.kind == model::part_kind::integer;
  }

  void add(std::span<const std::byte> reference, std::span<const std::byte> test,
           const box_indices& where) override {
    with_reader(parts_.reference, [&](auto read_reference) {
      with_reader(parts_.test,
                  [&](auto read_test) { walk(reference, test, where, read_reference, read_test); });
    });
  }

  void merge(const tally& next) override {
    const auto& other = dynamic_cast<const integer_tally&>(next);
    if (other.largest_ > largest_) largest_ = other.largest_;
    number_tally::merge(next);
  }

  void finish(array_row& row) const override {
    number_tally::finish(row);
    row.absolute.exact = row.absolute.there ? decimal(largest_) : "";
    row.ulp = {};
  }

 private:
  template <class Use>
  static void with_reader(const model::element_part& part, Use use) {
    const bool whole = part.precision == part.bytes * 8;
    if (whole && part.bytes == 1)
      return part.is_signed ? use(native<std::int8_t>(part)) : use(native<std::uint8_t>(part));
    if (whole && part.bytes == 2)
      return part.is_signed ? use(native<std::int16_t>(part)) : use(native<std::uint16_t>(part));
    if (whole && part.bytes == 4)
      return part.is_signed ? use(native<std::int32_t>(part)) : use(native<std::uint32_t>(part));
    if (whole && part.bytes == 8)
      return part.is_signed ? use(native<std::int64_t>(part)) : use(native<std::uint64_t>(part));
    use(packed(part));
  }

  template <class Reference, class Test>
  void walk(std::span<const std::byte> reference, std::span<const std::byte> test, const box_indices& where,
            Reference read_reference, Test read_test) {
    const std::uint64_t width = parts_.reference.bytes, test_width = parts_.test.bytes;
    const std::uint64_t count = reference.size() / width;
    const bool same_type = std::is_same_v<Reference, Test> && !std::is_same_v<Reference, packed>;
    // A double holds the sums of a block well enough: they are for the norm.
    double squares = 0, reference_squares = 0;
    wide sum = 0;
    for (std::uint64_t first = 0; first < count; first += block) {
      const std::uint64_t n = std::min(block, count - first);
      const std::byte *r = reference.data() + first * width, *t = test.data() + first * test_width;
      reference_squares += squares_of(r, n, width, read_reference);
      if (same_type && std::memcmp(r, t, n * width) == 0) continue;
      for (std::uint64_t i = 0; i < n; ++i, r += width, t += test_width) {
        const wide a = read_reference(r), d = static_cast<wide>(read_test(t)) - a;
        if (d == 0) continue;
        sum += d;
        const auto size = static_cast<double>(d);
        squares += size * size;
        different(d < 0 ? -d : d, a, r, t, where.flat(first + i));
      }
    }
    sums_.compared += count;
    sums_.finite += count;
    sums_.sum += static_cast<long double>(sum);
    sums_.squares += static_cast<long double>(squares);
    sums_.reference_squares += static_cast<long double>(reference_squares);
  }

  static constexpr std::uint64_t block = 1024;

  // In four sums, which do not wait for each other.
  template <class Read>
  static double squares_of(const std::byte* from, std::uint64_t n, std::uint64_t width, Read read) {
    double sums[4] = {};
    for (std::uint64_t i = 0; i < n; ++i, from += width) {
      const auto value = static_cast<double>(read(from));
      sums[i % 4] += value * value;
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  void different(wide size, wide reference, const std::byte* r, const std::byte* t, std::uint64_t flat) {
    const auto apart = static_cast<long double>(size);
    const auto norm = static_cast<long double>(reference < 0 ? -reference : reference);
    if (within(size, norm)) {
      ++sums_.accepted;
    } else {
      ++sums_.different;
      take_first(flat, r, t);
    }
    // 65 bits: neighbours may be one long double; the exact size decides.
    if (size > largest_) {
      largest_ = size;
      sums_.absolute = {};
    }
    if (size == largest_) take(sums_.absolute, apart, flat, r, t);
    if (reference == 0) {
      ++sums_.against_zero;
      take(sums_.zero, apart, flat, r, t);
    } else {
      take(sums_.relative, apart / norm, flat, r, t);
    }
  }

  [[nodiscard]] bool within(wide size, long double norm) const noexcept {
    if (!tolerant_ || !tolerated_) return false;
    const tolerance& limit = parts_.accepts;
    if (limit.ulps) return size <= static_cast<wide>(*limit.ulps);
    return static_cast<long double>(size) <=
           static_cast<long double>(limit.absolute) + static_cast<long double>(limit.relative) * norm;
  }

  bool tolerant_, tolerated_ = false;
  wide largest_ = 0;
};

}  // namespace

std::unique_ptr<tally> make_integer_tally(const compared_parts& parts) {
  return std::make_unique<integer_tally>(parts);
}

}  // namespace numdiff::analysis

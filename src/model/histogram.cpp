#include "model/run.hpp"

namespace numdiff::model {

namespace {

// LEB128: seven bits a byte, low first, high bit set on all but the last.
bool read_varint(std::span<const std::byte>& in, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(in.front());
    in = in.subspan(1);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

}  // namespace

// Encoding: zigzag varint of the first octave, varint of the number of octaves, varint per count.
histogram decode_histogram(std::span<const std::byte> encoded) {
  histogram h;
  std::uint64_t first = 0;
  std::uint64_t octaves = 0;
  if (!read_varint(encoded, first) || !read_varint(encoded, octaves)) return h;
  h.first = static_cast<int>(static_cast<std::int64_t>(first >> 1) ^ -static_cast<std::int64_t>(first & 1));
  for (std::uint64_t i = 0; i < octaves; ++i) {
    std::uint64_t count = 0;
    if (!read_varint(encoded, count)) break;
    h.counts.push_back(count);
  }
  return h;
}

}  // namespace numdiff::model

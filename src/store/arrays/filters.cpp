#include "store/arrays/filters.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace numdiff::store {

namespace {

// A zlib stream in, exactly `size` bytes out.
bool inflate_all(const std::vector<std::byte>& in, std::vector<std::byte>& out, std::size_t size) {
  out.resize(size);
  z_stream stream{};
  if (in.size() > 0xFFFFFFFFU || size > 0xFFFFFFFFU || inflateInit(&stream) != Z_OK) return false;
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(size);
  const int status = ::inflate(&stream, Z_FINISH);
  const bool whole = status == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return whole;
}

// Byte k of all elements stood together; the bytes behind the last whole element stay where they are.
void unshuffle(const std::vector<std::byte>& in, std::vector<std::byte>& out, std::size_t width) {
  const std::size_t count = in.size() / width;
  out.resize(in.size());
  constexpr std::size_t block = 4096;
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::size_t end = std::min(count, begin + block);
    for (std::size_t k = 0; k < width; ++k)
      for (std::size_t i = begin; i < end; ++i) out[i * width + k] = in[k * count + i];
  }
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(count * width), in.end(),
            out.begin() + static_cast<std::ptrdiff_t>(count * width));
}

// Fletcher's sum of 16-bit big-endian words, as HDF5 computes it (its file format, "Fletcher32 checksum
// filter").
std::uint32_t fletcher32(const std::byte* data, std::size_t size) {
  std::uint32_t low = 0, high = 0;
  std::size_t words = size / 2;
  const auto fold = [](std::uint32_t sum) { return (sum & 0xFFFF) + (sum >> 16); };
  while (words > 0) {
    for (std::size_t block = std::min<std::size_t>(words, 360); block > 0; --block, --words, data += 2) {
      low += std::to_integer<std::uint32_t>(data[0]) << 8 | std::to_integer<std::uint32_t>(data[1]);
      high += low;
    }
    low = fold(low);
    high = fold(high);
  }
  if (size % 2 != 0) {
    low += std::to_integer<std::uint32_t>(*data) << 8;
    high += low;
    low = fold(low);
    high = fold(high);
  }
  return fold(high) << 16 | fold(low);
}

// The sum stands behind the data, little-endian; files of HDF5 1.6 have its bytes swapped in pairs.
bool check_sum(std::vector<std::byte>& bytes) {
  if (bytes.size() < 4) return false;
  std::uint32_t stored = 0;
  std::memcpy(&stored, bytes.data() + bytes.size() - 4, 4);
  bytes.resize(bytes.size() - 4);
  const std::uint32_t sum = fletcher32(bytes.data(), bytes.size());
  const std::uint32_t swapped = (sum & 0xFF00FF00U) >> 8 | (sum & 0x00FF00FFU) << 8;
  return stored == sum || stored == swapped;
}

// LibLZF's format: runs of literals, and copies of what came before.
bool unpack_lzf(const std::vector<std::byte>& in, std::vector<std::byte>& out, std::size_t size) {
  out.resize(size);
  std::size_t from = 0, to = 0;
  while (from < in.size()) {
    const auto control = std::to_integer<std::size_t>(in[from++]);
    if (control < 32) {
      const std::size_t length = control + 1;
      if (length > in.size() - from || length > size - to) return false;
      std::memcpy(out.data() + to, in.data() + from, length);
      from += length;
      to += length;
      continue;
    }
    std::size_t length = control >> 5;
    if (length == 7) {
      if (from == in.size()) return false;
      length += std::to_integer<std::size_t>(in[from++]);
    }
    length += 2;
    if (from == in.size()) return false;
    const std::size_t back = ((control & 31) << 8 | std::to_integer<std::size_t>(in[from++])) + 1;
    if (back > to || length > size - to) return false;
    for (; length > 0; --length, ++to) out[to] = out[to - back];  // may overlap: one by one
  }
  return to == size;
}

}  // namespace

bool unfilter(std::vector<std::byte>& bytes, std::vector<std::byte>& scratch,
              const std::vector<filter_step>& steps, std::uint32_t skipped, std::size_t size) {
  // A checksum before a compressing filter is packed with the data.
  std::size_t packed = size;
  std::vector<std::size_t> sizes(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    sizes[i] = packed;
    if (steps[i].filter == filter::fletcher32 && (skipped >> i & 1) == 0) packed += 4;
  }
  for (std::size_t i = steps.size(); i-- > 0;) {
    if ((skipped >> i & 1) != 0) continue;
    bool good = true;
    switch (steps[i].filter) {
      case filter::deflate:
        good = inflate_all(bytes, scratch, sizes[i]);
        std::swap(bytes, scratch);
        break;
      case filter::lzf:
        good = unpack_lzf(bytes, scratch, sizes[i]);
        std::swap(bytes, scratch);
        break;
      case filter::shuffle:
        if (steps[i].element_bytes > 1) {
          unshuffle(bytes, scratch, steps[i].element_bytes);
          std::swap(bytes, scratch);
        }
        break;
      case filter::fletcher32: good = check_sum(bytes); break;
    }
    if (!good) return false;
  }
  return bytes.size() == size;
}

}  // namespace numdiff::store

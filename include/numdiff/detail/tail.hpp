#pragma once
// The `.tail` file: a header of 4096 bytes, then the ring of messages.
//
// Positions count bytes since the start and never wrap; a position stands at ring offset
// position % capacity. A message is never split: a filler (kind 0, only `size` set) pads the end of
// the ring. `read` is what the run file has committed, `write` what producers have reserved.
#include <cstdint>

#include "numdiff/detail/message.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline constexpr std::uint32_t tail_version = 1;
inline constexpr std::uint32_t tail_header_bytes = 4096;
inline constexpr char tail_magic[8] = {'N', 'D', 'T', 'A', 'I', 'L', '0', '1'};
inline constexpr std::uint16_t message_filler = 0;

struct tail_header {
  char magic[8];  // written last when the file is made
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t capacity;  // of the ring, a multiple of 8
  char run_id[64];
  std::int32_t rank;
  std::int32_t pid;
  std::uint64_t read;
  std::uint64_t write;
};
static_assert(sizeof(tail_header) == 112);

// CRC-32C (Castagnoli, reflected, initial and final complement); `crc` continues an earlier result.
inline std::uint32_t crc32c(const void* data, std::uint64_t bytes, std::uint32_t crc = 0) noexcept;

enum class tail_item { end, complete, damaged };

// Walks the messages between `read` and `write`. It never reads outside the ring, whatever the
// header says; `end` comes for a header or a message size that cannot be.
class tail_walk {
 public:
  tail_walk(const tail_header& header, const unsigned char* ring, std::uint64_t ring_bytes) noexcept
      : ring_(ring), capacity_(header.capacity), position_(header.read), end_(header.write) {
    const bool sane = capacity_ != 0 && capacity_ % 8 == 0 && capacity_ <= ring_bytes && position_ % 8 == 0 &&
                      end_ >= position_ && end_ - position_ <= capacity_;
    if (!sane) end_ = position_;
  }

  // Moves to the next message that is not a filler. complete: `message()` is whole and its check
  // agrees. damaged: it was reserved, but not finished; a later one may still be complete.
  tail_item next() noexcept;

  // The message that next() found; valid after tail_item::complete.
  [[nodiscard]] const message_header* message() const noexcept { return message_; }

 private:
  const unsigned char* ring_;
  std::uint64_t capacity_;
  std::uint64_t position_;
  std::uint64_t end_;
  const message_header* message_ = nullptr;
};

namespace crc32c_tables {
struct tables {
  std::uint32_t at[8][256];
};
constexpr tables make() noexcept {
  tables t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1U) ^ ((c & 1U) != 0 ? 0x82f63b78U : 0U);
    t.at[0][i] = c;
  }
  for (std::uint32_t i = 0; i < 256; ++i) {
    for (int k = 1; k < 8; ++k) t.at[k][i] = (t.at[k - 1][i] >> 8U) ^ t.at[0][t.at[k - 1][i] & 0xffU];
  }
  return t;
}
inline constexpr tables table = make();
}  // namespace crc32c_tables

inline std::uint32_t crc32c(const void* data, std::uint64_t bytes, std::uint32_t crc) noexcept {
  const auto* p = static_cast<const unsigned char*>(data);
  const auto& t = crc32c_tables::table.at;
  std::uint32_t c = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    std::uint64_t word = 0;
    __builtin_memcpy(&word, p, 8);
    word ^= c;
    c = t[7][word & 0xffU] ^ t[6][(word >> 8U) & 0xffU] ^ t[5][(word >> 16U) & 0xffU] ^
        t[4][(word >> 24U) & 0xffU] ^ t[3][(word >> 32U) & 0xffU] ^ t[2][(word >> 40U) & 0xffU] ^
        t[1][(word >> 48U) & 0xffU] ^ t[0][word >> 56U];
  }
  for (; bytes != 0; --bytes, ++p) c = (c >> 8U) ^ t[0][(c ^ *p) & 0xffU];
  return ~c;
}

inline tail_item tail_walk::next() noexcept {
  while (position_ < end_) {
    const std::uint64_t offset = position_ % capacity_;
    if (capacity_ - offset < 8) break;
    const unsigned char* at = ring_ + offset;
    message_header h{};
    __builtin_memcpy(&h, at, 8);
    const bool sane =
        h.size >= 8 && h.size % 8 == 0 && h.size <= capacity_ - offset && h.size <= end_ - position_;
    if (!sane) break;
    position_ += h.size;
    if (h.kind == message_filler) continue;
    if (h.size < sizeof h) return tail_item::damaged;
    __builtin_memcpy(&h, at, sizeof h);
    if (h.ready != 1 || crc32c(at + sizeof h, h.size - sizeof h) != h.check) return tail_item::damaged;
    message_ = reinterpret_cast<const message_header*>(at);
    return tail_item::complete;
  }
  end_ = position_;
  return tail_item::end;
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

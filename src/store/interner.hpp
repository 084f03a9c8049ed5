#pragma once
// Gives equal things one number, within a bound of memory.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace numdiff::store {

// Numbers for texts (strings, and shapes as their bytes). Nothing once `limit_bytes` are used up.
class interner {
 public:
  interner(std::uint32_t first, std::size_t limit_bytes) : next_(first), room_(limit_bytes) {}

  struct result {
    std::uint32_t id;
    bool fresh;
  };
  std::optional<result> intern(std::string_view text) {
    if (const auto at = ids_.find(text); at != ids_.end()) return result{at->second, false};
    const std::size_t cost = text.size() + entry_cost;
    if (cost > room_) return {};
    room_ -= cost;
    ids_.emplace(text, next_);
    return result{next_++, true};
  }

 private:
  static constexpr std::size_t entry_cost = 96;  // node, bucket and string object
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
  };
  std::unordered_map<std::string, std::uint32_t, hash, std::equal_to<>> ids_;
  std::uint32_t next_;
  std::size_t room_;
};

// Where content with a 128-bit digest and an identity was stored. Forgets all when it is full, which
// costs a second copy and nothing else.
class content_index {
 public:
  struct key {
    std::uint64_t digest[2];
    std::int64_t count;
    std::uint32_t placement;
    std::uint32_t scaling;
    std::uint32_t kind;  // dtype and what it is the content of
    bool operator==(const key&) const = default;
  };
  [[nodiscard]] std::optional<std::int64_t> find(const key& k) const {
    const auto at = places_.find(k);
    if (at == places_.end()) return {};
    return at->second;
  }
  void add(const key& k, std::int64_t place) {
    if (places_.size() >= limit) places_.clear();
    places_.emplace(k, place);
  }

 private:
  static constexpr std::size_t limit = std::size_t{1} << 18;
  struct hash {
    std::size_t operator()(const key& k) const noexcept {
      return static_cast<std::size_t>((k.digest[0] ^ (k.digest[1] * 0x9e3779b97f4a7c15U)) +
                                      static_cast<std::uint64_t>(k.count) * 31 + k.kind);
    }
  };
  std::unordered_map<key, std::int64_t, hash> places_;
};

}  // namespace numdiff::store

#include "model/pieces.hpp"

#include <cstring>

#include "numdiff/detail/pieces.hpp"

namespace numdiff::model {

std::vector<piece> pieces_of(const rank_data& rank, std::uint64_t capture) {
  std::vector<piece> all;
  const auto [first, last] = rank.extras.equal_range(capture);
  for (auto at = first; at != last; ++at) {
    if (at->second.key != detail::pieces_key) continue;
    std::span<const std::byte> rest = at->second.bytes;
    const auto take = [&](auto& to) {
      if (rest.size() < sizeof to) return false;
      std::memcpy(&to, rest.data(), sizeof to);
      rest = rest.subspan(sizeof to);
      return true;
    };
    detail::pieces_header head{};
    if (!take(head) || head.rank > 8) return {};
    while (!rest.empty()) {
      piece& p = all.emplace_back();
      p.box.resize(head.rank);
      for (auto& range : p.box)
        if (!take(range)) return {};
      if (!take(p.digest)) return {};
      if (head.has_sketch != 0 && !take(p.sketch.emplace())) return {};
    }
  }
  return all;
}

}  // namespace numdiff::model

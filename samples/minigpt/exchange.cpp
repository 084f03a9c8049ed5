#include "exchange.hpp"

namespace minigpt {

std::vector<message> exchange_all(const ranks& world, const group& g, const std::vector<message>& out,
                                  const std::vector<std::size_t>& sizes) {
  std::vector<message> in(out.size());
  in[static_cast<std::size_t>(g.at)] = out[static_cast<std::size_t>(g.at)];
  for (std::int32_t hop = 1; hop < g.size(); ++hop) {
    const std::int32_t to = (g.at + hop) % g.size(), from = (g.at + g.size() - hop) % g.size();
    const message& sent = out[static_cast<std::size_t>(to)];
    message& got = in[static_cast<std::size_t>(from)];
    got.resize(sizes[static_cast<std::size_t>(from)]);
    world.exchange(g, to, sent.data(), sent.size(), from, got.data(), got.size());
  }
  return in;
}

}  // namespace minigpt

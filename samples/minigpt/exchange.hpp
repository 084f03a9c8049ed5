#pragma once
// Messages between every two ranks of a group.
#include <cstddef>
#include <vector>

#include "ranks.hpp"

namespace minigpt {

using message = std::vector<std::byte>;

// Sends out[i] to rank i of the group and returns what each sent to this one, which knows their sizes.
std::vector<message> exchange_all(const ranks& world, const group& g, const std::vector<message>& out,
                                  const std::vector<std::size_t>& sizes);

}  // namespace minigpt

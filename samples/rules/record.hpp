#pragma once
// Records a program, every rank in a forked child.
#include <cstdint>
#include <functional>
#include <string>

#include "numdiff/session.hpp"

namespace reproduce {

// What one rank of a run does between opening and closing its session.
using program = std::function<void(numdiff::session&, std::int32_t rank)>;

// Writes `file` at this level, or as the environment says (NUMDIFF_LEVEL). One rank after the other: a
// program knows what the others hold. Throws std::runtime_error when a child fails.
void record(const program& what, const std::string& file, std::int32_t ranks = 1,
            numdiff::level level = numdiff::level::tensors);

}  // namespace reproduce

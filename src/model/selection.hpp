#pragma once
// Which part of a run a reader asked for: steps, scopes, ops and ranks. Empty means everything.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "model/run.hpp"

namespace numdiff::model {

// Steps first, first + stride, ... below last.
struct step_range {
  std::int64_t first = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  std::int64_t stride = 1;
  [[nodiscard]] bool has(std::int64_t step) const noexcept {
    return step >= first && step < last && (step - first) % stride == 0;
  }
};

// "3", "0:10", "5:", ":5", "0:100:20", separated by commas. Throws std::invalid_argument naming the part that
// is none.
std::vector<step_range> parse_steps(std::string_view text);
// "0", "0-3", separated by commas. Throws std::invalid_argument.
std::vector<std::int32_t> parse_ranks(std::string_view text);

struct selection {
  std::vector<step_range> steps;
  std::vector<std::string> scopes;  // a pattern without wildcards also selects every scope below it
  std::vector<std::string> ops;     // patterns for op names
  std::vector<std::int32_t> ranks;

  [[nodiscard]] bool empty() const noexcept {
    return steps.empty() && scopes.empty() && ops.empty() && ranks.empty();
  }
  [[nodiscard]] bool has_rank(std::int32_t rank) const noexcept;
  [[nodiscard]] bool has(std::int64_t step, std::string_view scope, std::string_view op) const noexcept;
  // The same for a row; captures outside any op are selected when steps, scopes and ops are empty.
  [[nodiscard]] bool has(const rank_data& rank, const op_row& op) const noexcept;
};

}  // namespace numdiff::model

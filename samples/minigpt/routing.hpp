#pragma once
// Top-2 routing of tokens to experts, which are spread over the data-parallel ranks: who gets what, and the
// all-to-all exchanges. The first and second choice of a token are rows 2 t and 2 t + 1 of [tokens, 2,
// width].
#include <cstdint>
#include <string>
#include <vector>

#include "ops.hpp"

namespace minigpt {

inline constexpr std::int64_t choices = 2;

// The rows of one expert, in the order of the tokens: whose they are, and which choice of the token.
struct expert_rows {
  std::int64_t expert;
  std::vector<std::int64_t> tokens, rows;  // global: t, and 2 t + choice
  std::vector<std::int32_t> owners;        // data-parallel rank of each token
};

class routing {
 public:
  // `chosen` [tokens, 2]: the experts of this rank's tokens. Collective over dp.
  routing(const engine& e, const tensor& chosen);

  // Of the experts of this rank.
  [[nodiscard]] const std::vector<expert_rows>& mine() const { return mine_; }
  // Where an expert's tensor lies: by token, or by row of [2 tokens, width].
  static placement by_token(const engine& e, const expert_rows& rows);
  static placement by_row(const engine& e, const expert_rows& rows);

  // x [tokens, width] or [tokens, 2, width] of all ranks to the experts of this rank, one tensor each.
  [[nodiscard]] std::vector<tensor> dispatch(const engine& e, const std::string& name, const tensor& x,
                                             carries factors) const;
  // What the experts made, back to [tokens, 2, width] of this rank.
  [[nodiscard]] tensor combine(const engine& e, const std::string& name, const std::vector<tensor>& made,
                               carries factors) const;

 private:
  std::vector<expert_rows> all_, mine_;
  std::int64_t first_token_, tokens_;
};

// Experts [first, second) live on a data-parallel rank.
std::pair<std::int64_t, std::int64_t> experts_of(const engine& e, std::int32_t dp_at);

}  // namespace minigpt

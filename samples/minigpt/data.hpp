#pragma once
// Byte-level text: the repository's own LICENSE and docs, or files of the user.
#include <string>

#include "network.hpp"

namespace minigpt {

class text_data {
 public:
  // Throws when a file cannot be read or the text is shorter than two sequences.
  explicit text_data(const options& o);

  // This rank's part of the batch of a step. The whole batch depends on the seed and the step alone.
  [[nodiscard]] token_batch batch(const engine& e) const;

 private:
  // Where a sequence of the step's batch begins in the text.
  [[nodiscard]] std::size_t begin(const engine& e, std::int64_t sequence) const;

  std::string text_;
};

}  // namespace minigpt

#pragma once
// The flow of data within one run: which earlier capture wrote what an op reads.
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/index.hpp"
#include "analysis/placement.hpp"

namespace numdiff::analysis {

enum class origin {
  none,     // no earlier capture holds these numbers: a source
  read,     // an earlier op read the same numbers
  moved,    // an earlier op wrote the same numbers at other places (a transpose, another layout)
  written,  // an earlier op wrote them
};

struct link {
  analysis::origin origin = analysis::origin::none;
  std::int32_t from = -1;  // index into run_index::captures()
  bool only = false;       // no other capture wrote these numbers before
};

// Something that a read should have and has not.
enum class gap {
  none,
  no_writer,     // elsewhere it reads what `expected` writes; here nobody wrote these numbers
  rearranged,    // elsewhere as written; here the same numbers at other places
  foreign_rank,  // this rank holds the numbers of another rank
  other_tensor,  // the other run reads what one op writes, this one what another op writes
};

struct read_flow {
  link from;                                // weakest over ranks
  analysis::gap gap = analysis::gap::none;  // by this run's own habits
  bool first = false;                       // no earlier step of this run read here
  std::int32_t expected = -1;       // what wrote its like at another step or layer, index into captures()
  std::vector<std::int32_t> ranks;  // world ranks with the weakest origin
  bool foreign = false;             // an earlier op of another rank wrote these numbers
};

class chain {
 public:
  explicit chain(const run_index& run);

  // By index of run_index::captures(); for written captures all empty.
  [[nodiscard]] const read_flow& of(std::int32_t capture) const {
    return flows_[static_cast<std::size_t>(capture)];
  }

  // Whether an op that computes stands behind these numbers: casts, copies and collectives only pass
  // on what they read.
  [[nodiscard]] bool computed(std::int32_t capture) const;
  // The capture that wrote what this one reads, directly or by way of other reads of it; -1 none.
  [[nodiscard]] std::int32_t writer(std::int32_t capture) const;
  // The capture that casts and copies of this run made these numbers from; itself where there are none.
  [[nodiscard]] std::int32_t behind_casts(std::int32_t capture) const;

 private:
  // A capture of one rank: its row there, and its index into run_index::captures().
  struct rank_capture {
    std::uint32_t row;
    std::int32_t capture;
  };
  void link_rank(std::uint32_t rank, std::vector<rank_capture> order);
  void find_gaps();

  const run_index& run_;
  std::vector<read_flow> flows_;
};

// False for tensors of one magnitude (zeros, ones, signs, masks), which hold the same numbers by chance.
bool tells_origin(const model::capture_row& row) noexcept;

// "decoder.layer.#.attn": numbers replaced, so that layers share a name.
std::string general_name(std::string_view scope);

}  // namespace numdiff::analysis

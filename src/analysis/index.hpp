#pragma once
// A run as logical ops and captures: what all ranks did at one place of the program, together.
#include <compare>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/comparison.hpp"
#include "analysis/symbols.hpp"
#include "model/run.hpp"

namespace numdiff::analysis {

// One rank's part: a row of run.ranks[rank].ops or .captures.
struct member {
  std::uint32_t rank = 0;
  std::uint32_t row = 0;
};

struct logical_capture {
  std::uint32_t op = 0;       // index into run_index::ops()
  std::uint32_t name = 0;     // symbol
  std::uint32_t ordinal = 0;  // among captures of this op with the same name, role and usage
  numdiff::role role = numdiff::role::none;
  numdiff::usage usage = numdiff::usage::none;
  bool written = false;         // by its op; otherwise read
  std::vector<member> members;  // ascending rank, then row: a rank has one for each micro-batch
};

struct logical_op {
  std::int64_t step = -1, update = -1;
  std::int32_t micro_batch = -1;
  numdiff::phase phase = numdiff::phase::none;
  std::uint32_t scope = 0, name = 0, kind = 0;  // symbols
  std::uint32_t call = 0;
  std::uint32_t first_capture = 0, captures = 0;  // range of run_index::captures()
  bool selected = true;                           // asked for; others only explain what selected ops read
  bool outside = false;                           // stands for captures outside any op
  std::vector<member> members;                    // ascending rank, then row
};

class run_index {
 public:
  // `like`: a run whose order decides where the ranks of this one leave it open.
  run_index(const model::run& run, symbols& names, const model::selection& select,
            const run_index* like = nullptr);

  [[nodiscard]] const model::run& run() const noexcept { return run_; }
  [[nodiscard]] const symbols& names() const noexcept { return names_; }
  // In an order that program order and communication allow (happens_before.hpp).
  [[nodiscard]] const std::vector<logical_op>& ops() const noexcept { return ops_; }
  // In execution order, those of one op together.
  [[nodiscard]] const std::vector<logical_capture>& captures() const noexcept { return captures_; }
  [[nodiscard]] std::span<const logical_capture> captures_of(const logical_op& op) const {
    return std::span(captures_).subspan(op.first_capture, op.captures);
  }
  [[nodiscard]] const model::rank_data& rank_of(const member& m) const { return run_.ranks[m.rank]; }
  [[nodiscard]] const model::capture_row& capture_row_of(const member& m) const {
    return run_.ranks[m.rank].captures[m.row];
  }
  [[nodiscard]] const model::op_row& op_row_of(const member& m) const {
    return run_.ranks[m.rank].ops[m.row];
  }
  [[nodiscard]] std::string_view kind_of(const logical_op& op) const { return names_.text(op.kind); }
  // Whether the selection lets this rank, by index into run().ranks, take part.
  [[nodiscard]] bool reads(std::uint32_t rank) const { return reads_.contains(rank); }
  [[nodiscard]] bool skipped(std::int64_t step) const { return skipped_.contains(step); }
  // The first step of any op, -1 when there is none.
  [[nodiscard]] std::int64_t first_step() const noexcept { return first_step_; }
  // Captures whose op was dropped: nothing says what they are.
  [[nodiscard]] std::uint64_t orphans() const noexcept { return orphans_; }
  [[nodiscard]] bool skips() const { return !skipped_.empty(); }
  [[nodiscard]] place place_of(const logical_op& op) const;
  [[nodiscard]] place place_of(const logical_capture& capture) const;

 private:
  const model::run& run_;
  const symbols& names_;
  std::vector<logical_op> ops_;
  std::vector<logical_capture> captures_;
  std::set<std::int64_t> skipped_;
  std::set<std::uint32_t> reads_;
  std::int64_t first_step_ = -1;
  std::uint64_t orphans_ = 0;
};

// Rows that belong to a capture or an op, nullptr when there is none.
const model::cast_row* cast_of(const model::rank_data& rank, std::uint64_t capture) noexcept;
const model::scales_row* scales_of(const model::rank_data& rank, std::uint64_t capture) noexcept;
const model::collective_row* collective_of(const model::rank_data& rank, std::uint64_t op) noexcept;

// True for captures that their op writes: output, gradient, accumulate, and states named "x.new".
bool is_written(role r, std::string_view name) noexcept;

// The value of a capture of one element, from its sums.
double scalar_of(const model::capture_row& row) noexcept;

}  // namespace numdiff::analysis

#pragma once
// What is in one run: its manifest, ops and captures, or single tensors.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/run.hpp"
#include "model/selection.hpp"
#include "report/style.hpp"

namespace numdiff::report {

// One selected capture.
struct shown {
  const model::rank_data* rank = nullptr;
  const model::capture_row* row = nullptr;
  const model::op_row* op = nullptr;  // null outside any op
  std::string path;                   // model::tensor_path
};

// The captures of a selection, by rank and program order. `tensor` is "" for all, or a pattern for a
// path or for the end of one that begins behind a '/' or '.'.
std::vector<shown> select_captures(const model::run& run, const model::selection& select,
                                   std::string_view tensor);

// Manifest, ranks, ops and captures; lists are bounded by s.top.
std::string show_run(const model::run& run, const model::selection& select, const style& s);

// Statistics, histogram and the first values of each tensor, bounded by s.top tensors.
std::string show_tensors(const std::vector<shown>& tensors, const style& s);

// Schema numdiff-show/1: the same for programs, unbounded but for the s.top first values of a tensor,
// which are there when `tensor` is not "".
std::string show_json(const model::run& run, const model::selection& select, std::string_view tensor,
                      const style& s);

}  // namespace numdiff::report

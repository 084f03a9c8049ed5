#pragma once
// The answer of a comparison: what the reports print. Mirrors the JSON schema `numdiff-report/1`.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/verdict.hpp"
#include "model/envelope.hpp"
#include "model/run.hpp"
#include "model/selection.hpp"
#include "numdiff/dtype.hpp"
#include "numdiff/terms.hpp"

namespace numdiff::analysis {

// The answer of the whole comparison. `differ` outranks `incomplete`.
enum class outcome { agree, differ, incomplete };

enum class health { ok, nonfinite };

// Which run a finding was seen in; `both` when it shows only between them.
enum class side { both, reference, test };

// Where something is. Numbers are -1 and texts empty where they do not apply.
struct place {
  std::int64_t step = -1;
  std::int64_t update = -1;
  std::int32_t micro_batch = -1;
  numdiff::phase phase = numdiff::phase::none;
  std::string scope;
  std::string op;
  std::int32_t call = 0;  // how many ops of that name came before in the context
  numdiff::role role = numdiff::role::none;
  std::string tensor;
  numdiff::usage usage = numdiff::usage::none;
  std::vector<std::int32_t> ranks;  // empty: not told, or one rank is all there is
  bool all_ranks = false;           // every rank that holds it, alike
};

using evidence_list = std::vector<std::pair<std::string, double>>;

// What brought an error into the tensor where it was found.
enum class bringer { unknown, local_op, communication, given };

// One rule that fired. `symptom` and `cause` are names of docs/causes.md.
struct finding {
  place where;
  std::string rule;  // "ND101"
  std::string symptom;
  std::string cause;
  evidence_list evidence;
  std::string control;  // the smallest experiment that would confirm it
  std::string message;  // one sentence for people
  side seen_in = side::both;
  bringer brought_by = bringer::unknown;
  bool benign = false;                // explains, never fails a comparison
  bool is_root = false;               // nothing that it reads explains it
  std::uint64_t order = 0;            // execution order, for sorting
  std::vector<std::string> explains;  // less specific rules at the same place: "ND201 mismatch open"
};

// Captures of one run: captures = matched + auxiliary + bridged + only_there + dropped.
struct side_totals {
  std::uint64_t captures = 0;
  std::uint64_t matched = 0;
  std::uint64_t auxiliary = 0;
  std::uint64_t bridged = 0;
  std::uint64_t only_there = 0;
  std::uint64_t dropped = 0;
  std::uint64_t auxiliary_undecided = 0;  // of auxiliary: its op could not be replayed
};

// matched = equal + within + beyond + undecided + not_comparable. Counts are of logical captures
// (one for all ranks).
struct totals {
  std::uint64_t matched = 0;
  std::uint64_t equal = 0;
  std::uint64_t within = 0;
  std::uint64_t beyond = 0;
  std::uint64_t undecided = 0;
  std::uint64_t not_comparable = 0;
  side_totals reference;
  side_totals test;
};

// Distances between the two runs of one tensor, over elements finite in both. From values, or
// estimated from sketches (then only relative_l2 and cosine). NaN: not known.
struct distances {
  bool from_values = false;
  bool from_sketch = false;
  bool contaminated = false;  // sketches exclude different elements
  double relative_l2;         // |test - reference| / |reference|
  double reference_l2;        // |reference|, over the same elements
  double worst_absolute;
  double worst_relative;          // over nonzero reference elements
  double worst_ulp;               // in ulps of the narrower of the two formats
  std::int64_t worst_index = -1;  // row-major global index of worst_absolute
  double bias;                    // mean of (test - reference)
  double bias_z;                  // bias / its own standard error
  double cosine;
  double factor;              // f that minimises |test - f * reference|
  double factor_residual;     // |test - f * reference| / |reference|
  std::int64_t compared = 0;  // elements
  std::int64_t different = 0;
  std::int64_t nan_mismatch = 0;  // NaN in one of the two only
  std::int64_t inf_mismatch = 0;
  std::int64_t against_zero = 0;  // zero in one of the two only
  distances();
};

// One matched capture in the table of the worst ops.
struct table_row {
  place where;
  analysis::verdict verdict = analysis::verdict::undecided;
  dtype reference_dtype = dtype::unknown;
  dtype test_dtype = dtype::unknown;
  distances apart;
  double local_ratio = 0;  // observed / expected local error of the test run, 0 not known
  double limit = 0;        // what the ratio may reach
  std::string reason;      // why it is undecided or not comparable
};

struct manifest_difference {
  std::string key;
  manifest_class klass = manifest_class::record;
  std::string reference;  // "" when the key is missing
  std::string test;
};

struct run_summary {
  std::string path;
  std::string run_id;
  std::int32_t world_size = 1;
  std::int32_t ranks = 0;  // read
  std::uint64_t ops = 0;   // logical
  std::uint64_t captures = 0;
  bool closed = true;
};

// What to record next time so that what is open becomes decided: values of the environment variables.
struct capture_request {
  std::string select;  // NUMDIFF_SELECT
  std::string steps;   // NUMDIFF_STEPS, "" every step
  std::string level;   // NUMDIFF_LEVEL
  std::string
      shards;  // NUMDIFF_SHARDS of the run that holds whole what the other has in parts, "" not needed
};

// What was found, of one run or between several.
struct diagnosis {
  bool complete = false;
  analysis::health health = analysis::health::ok;
  std::optional<finding> first_divergence;  // of one run alone: its first fault
  std::vector<finding> roots;               // in execution order
  std::optional<finding> nonfinite_origin;
  std::vector<finding> information_lost;
  std::vector<finding> findings;                // all, in execution order, benign ones too
  std::vector<table_row> worst;                 // worst first
  std::vector<std::string> incomplete_because;  // one sentence each
  std::vector<std::string> warnings;            // one sentence each
  std::optional<capture_request> next_capture;
};

// What runs known to be good said about the captures of a comparison.
struct envelope_use {
  std::string path;
  std::uint64_t runs = 0;                                  // that it was measured on
  std::uint64_t covered = 0, beyond = 0, not_covered = 0;  // matched captures; beyond is part of covered
};

struct comparison : diagnosis {
  outcome verdict = outcome::incomplete;
  run_summary reference;
  run_summary test;
  analysis::totals totals;
  std::vector<manifest_difference> manifest_differences;
  std::optional<envelope_use> envelope;
  std::optional<run_summary> trusted;  // the good run, when the envelope is its distance from the reference
};

struct options {
  model::selection select = {};  // what to judge; producers outside it still explain what it reads
  std::size_t worst_rows = 20;
  bool strict = false;                     // undecided captures make the result incomplete
  const model::envelope* noise = nullptr;  // distances that good runs have
};

// Compares two runs. Reads payloads only where digests differ. Storage errors pass through.
comparison compare(const model::run& reference, const model::run& test, const options& how = {});

const char* name_of(verdict v) noexcept;
const char* name_of(outcome o) noexcept;
const char* name_of(health h) noexcept;
const char* name_of(side s) noexcept;
const char* name_of(bringer b) noexcept;  // "" for unknown

// "decoder.layer.3.attn / scores", with call and tensor where they matter.
std::string text_of(const place& p);

}  // namespace numdiff::analysis

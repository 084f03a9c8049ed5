#pragma once
// What the command line says. Every size, seed and format of a run stands here.
#include <cstdint>
#include <string>
#include <vector>

#include "ranks.hpp"

namespace minigpt {

enum class precision { fp64, fp32, bf16, fp16, fp8 };
enum class fp8_recipe { tensor, delayed, block, mx };
enum class accumulator { fp64, fp32, bf16, fp16, truncating };
enum class wire_format { fp64, fp32, bf16, fp16 };
enum class hop_order { ring, tree };
enum class norm_kind { rms, layer };

struct options {
  // model
  std::int64_t width = 32, layers = 3, heads = 2, hidden = 64, sequence = 32, batch = 4;
  norm_kind norm = norm_kind::rms;
  std::int64_t position_offset = 0;  // position of the first token
  std::int64_t document = 0;         // tokens per packed document, 0: attention sees all before it
  double query_gain = 1;             // of the initial query and key weights
  std::int64_t experts = 0;          // in place of each MLP, 0: none
  double dropout = 0;                // share of a branch's outputs that are left out

  // training
  std::int64_t steps = 10;
  std::uint64_t seed = 1;
  double learning_rate = 3e-3, weight_decay = 0.01, max_norm = 1;
  double loss_scale = 0;           // the first one; 0: 1, and for fp16 high enough to overflow
  std::int64_t micro_batches = 1;  // parts of the batch that run one after another; gradients are accumulated
  std::vector<std::string> data;
  std::string loss_log;
  std::int64_t top_k = 0;  // likeliest tokens in which targets are looked for, 0: not

  // numbers
  precision numbers = precision::fp32;
  fp8_recipe fp8 = fp8_recipe::tensor;
  accumulator accumulate = accumulator::fp32;

  // ranks
  mesh_sizes mesh;
  bool sequence_parallel = false;  // norms, dropout and residuals on shards of the rows over tp
  bool zero = false;               // optimizer states and master weights sharded over the data-parallel ranks
  bool recompute = false;          // the backward pass runs each layer's forward pass again
  wire_format wire = wire_format::fp32;
  hop_order order = hop_order::ring;

  // faults
  std::string fault;
  std::int64_t fault_layer = 0, fault_step = 0;
  bool list_faults = false;

  // capture
  std::string run, level, select, capture_steps, run_id;
  bool weights_digest = false;
};

// Exits with a message for --help and for a wrong command line.
options parse(int argc, char** argv);

const char* name_of(precision p);
const char* name_of(fp8_recipe r);
const char* name_of(accumulator a);
const char* name_of(wire_format w);
const char* name_of(hop_order o);

}  // namespace minigpt

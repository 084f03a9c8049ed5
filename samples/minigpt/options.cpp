#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>

namespace minigpt {
namespace {

template <class E>
CLI::CheckedTransformer one_of(std::initializer_list<E> values) {
  std::map<std::string, E> names;
  for (E value : values) names[name_of(value)] = value;
  return CLI::CheckedTransformer(names);
}

void set_size(options& o, const std::string& size) {
  if (size == "tiny") return;
  const bool large = size == "large";
  o.width = large ? 512 : 128;
  o.layers = large ? 8 : 4;
  o.heads = large ? 8 : 4;
  o.hidden = large ? 1376 : 352;
  o.sequence = large ? 512 : 128;
  o.batch = 4;
  o.learning_rate = large ? 3e-4 : 1e-3;
}

}  // namespace

const char* name_of(precision p) {
  constexpr const char* names[] = {"fp64", "fp32", "bf16", "fp16", "fp8"};
  return names[static_cast<int>(p)];
}
const char* name_of(fp8_recipe r) {
  constexpr const char* names[] = {"tensor", "delayed", "block", "mx"};
  return names[static_cast<int>(r)];
}
const char* name_of(accumulator a) {
  constexpr const char* names[] = {"fp64", "fp32", "bf16", "fp16", "truncating"};
  return names[static_cast<int>(a)];
}
const char* name_of(wire_format w) {
  constexpr const char* names[] = {"fp64", "fp32", "bf16", "fp16"};
  return names[static_cast<int>(w)];
}
const char* name_of(hop_order o) {
  return o == hop_order::ring ? "ring" : "tree";
}

options parse(int argc, char** argv) {
  options o;
  std::string size = "tiny", norm = "rms";
  for (int i = 1; i + 1 < argc; ++i)  // a size sets defaults that other options then change
    if (std::string(argv[i]) == "--size") set_size(o, size = argv[i + 1]);

  CLI::App app("minigpt trains a small byte-level GPT, instrumented for numdiff");
  app.add_option("--size", size, "tiny, small or large")->check(CLI::IsMember({"tiny", "small", "large"}));
  app.add_option("--width", o.width, "Width of the residual stream");
  app.add_option("--layers", o.layers, "Layers");
  app.add_option("--heads", o.heads, "Attention heads");
  app.add_option("--hidden", o.hidden, "Width of the MLP");
  app.add_option("--sequence", o.sequence, "Tokens per sequence");
  app.add_option("--batch", o.batch, "Sequences per step, over all ranks");
  app.add_option("--norm", norm, "rms or layer")->check(CLI::IsMember({"rms", "layer"}));
  app.add_option("--position-offset", o.position_offset, "Position of the first token");
  app.add_option("--document", o.document, "Tokens per packed document: attention stays inside");
  app.add_option("--experts", o.experts, "Experts in place of each MLP, spread over data-parallel ranks");
  app.add_option("--dropout", o.dropout, "Share of each branch's outputs to leave out")
      ->check(CLI::Range(0.0, 0.9));
  app.add_option("--query-gain", o.query_gain, "Gain of the initial query and key weights");
  app.add_option("--steps", o.steps, "Training steps");
  app.add_option("--micro-batches", o.micro_batches, "Parts of the batch whose gradients are accumulated");
  app.add_option("--seed", o.seed, "Seed of weights and batches");
  app.add_option("--learning-rate", o.learning_rate, "AdamW's step size");
  app.add_option("--weight-decay", o.weight_decay, "AdamW's weight decay");
  app.add_option("--max-norm", o.max_norm, "Largest gradient norm");
  app.add_option("--loss-scale", o.loss_scale,
                 "First loss scale; by default 1, and for fp16 too high on purpose");
  app.add_option("--data", o.data, "Text files; by default the repository's LICENSE and docs");
  app.add_option("--loss-log", o.loss_log, "Write step,loss as CSV");
  app.add_option("--top-k", o.top_k, "Print the share of targets that are among the K likeliest tokens")
      ->check(CLI::Range(0, 256));
  app.add_option("--precision", o.numbers, "fp64, fp32, bf16, fp16 or fp8")
      ->transform(
          one_of({precision::fp64, precision::fp32, precision::bf16, precision::fp16, precision::fp8}));
  app.add_option("--fp8", o.fp8, "Scaling: tensor, delayed, block or mx")
      ->transform(one_of({fp8_recipe::tensor, fp8_recipe::delayed, fp8_recipe::block, fp8_recipe::mx}));
  auto* accumulate =
      app.add_option("--accumulator", o.accumulate, "Of products: fp64, fp32, bf16, fp16 or truncating")
          ->transform(one_of({accumulator::fp64, accumulator::fp32, accumulator::bf16, accumulator::fp16,
                              accumulator::truncating}));
  app.add_option("--tp", o.mesh.tensor, "Tensor-parallel ranks; what is left is data-parallel");
  app.add_option("--pp", o.mesh.pipeline, "Pipeline stages");
  app.add_option("--cp", o.mesh.context, "Context-parallel ranks: zig-zag shards of every sequence");
  app.add_flag("--sp", o.sequence_parallel, "Norms, dropout and residuals on row shards over tp");
  app.add_flag("--zero", o.zero, "Optimizer sharded over data-parallel ranks");
  app.add_flag("--recompute", o.recompute, "Run each layer again in the backward pass");
  auto* wire =
      app.add_option("--wire", o.wire, "Format on the wire: fp64, fp32, bf16 or fp16")
          ->transform(one_of({wire_format::fp64, wire_format::fp32, wire_format::bf16, wire_format::fp16}));
  app.add_option("--order", o.order, "Order of reductions: ring or tree")
      ->transform(one_of({hop_order::ring, hop_order::tree}));
  app.add_option("--fault", o.fault, "Plant a fault (see --list-faults)");
  app.add_option("--fault-layer", o.fault_layer, "Layer of the fault");
  app.add_option("--fault-step", o.fault_step, "First step of the fault");
  app.add_flag("--list-faults", o.list_faults,
               "List the faults: name, ranks and options it needs, op, cause, rank, text");
  app.add_option("--run", o.run, "Capture into this run file");
  app.add_option("--level", o.level, "stats, sketch or tensors");
  app.add_option("--select", o.select, "Capture only matching scopes and ops");
  app.add_option("--capture-steps", o.capture_steps, "Capture only these steps, as in 0:10");
  app.add_option("--run-id", o.run_id, "Name of the run; by default from time and process");
  app.add_flag("--weights-digest", o.weights_digest, "Print a hash of the final weights");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  o.norm = norm == "layer" ? norm_kind::layer : norm_kind::rms;
  if (o.numbers == precision::fp64 && accumulate->empty()) o.accumulate = accumulator::fp64;
  if (o.numbers == precision::fp64 && wire->empty()) o.wire = wire_format::fp64;
  return o;
}

}  // namespace minigpt

#include "faults.hpp"

#include <cstdio>
#include <cstring>

namespace minigpt {

const fault_entry fault_table[] = {
    {"masked-row", 1, "", "decoder.layer.{L}.attn/attn.mask", "fully-masked-row", "",
     "the mask hides a whole row of scores"},
    {"score-overflow", 1, "--precision fp16 --loss-scale 1024 --query-gain 80",
     "decoder.layer.{L}.attn/attn.scores", "score-overflow", "",
     "scores are stored before they are scaled by 1/sqrt(d)"},
    {"missing-loss-scale", 1, "--precision fp16", "decoder.final/loss.gradient", "loss-scale", "",
     "the gradient of the loss is not multiplied by the loss scale that is later divided out"},
    {"stale-amax", 1, "--precision fp8 --fp8 delayed", "decoder.layer.{L}.attn/attn.x.cast", "stale-scale",
     "", "the scale follows an amax of 16 times smaller values"},
    {"truncating-residual", 1, "--precision bf16", "decoder.layer.{L}.attn/attn.residual", "truncating-cast",
     "", "the residual sum is cut to bf16 toward zero"},
    {"bf16-weights", 1, "", "decoder.layer.{L}.attn/attn.q.adamw", "lost-update", "",
     "the query weight has no master copy: its update is rounded to bf16"},
    {"naive-variance", 1, "--norm layer", "decoder.layer.{L}.attn/attn.norm", "cancellation", "",
     "the variance is E[x^2] - E[x]^2, summed in bf16"},
    {"bf16-positions", 1, "--position-offset 4001", "decoder.layer.{L}.attn/attn.rope_q",
     "unrepresentable-integer", "", "positions pass through bf16 before RoPE"},

    {"bf16-wire", 2, "", "decoder.layer.{L}.attn/attn.q.gradient.reduce", "low-precision-communication", "",
     "a reduction declared with the run's wire format travels in bf16"},
    {"bf16-wire", 2, "--tp 2", "decoder.layer.{L}.attn/attn.proj.reduce", "low-precision-communication", "",
     "a reduction declared with the run's wire format travels in bf16"},
    {"missing-all-reduce", 2, "", "decoder.layer.{L}.attn/attn.q.gradient.reduce", "missing-reduction", "",
     "a rank goes on with its own part of a sum"},
    {"missing-all-reduce", 2, "--tp 2", "decoder.layer.{L}.attn/attn.proj.reduce", "missing-reduction", "",
     "a rank goes on with its own part of a sum"},
    {"duplicate-reduction", 2, "", "decoder.layer.{L}.attn/attn.q.gradient.reduce", "duplicate-reduction", "",
     "a sum over ranks is summed over the ranks again"},
    {"duplicate-reduction", 2, "--tp 2", "decoder.layer.{L}.attn/attn.proj.reduce", "duplicate-reduction", "",
     "a sum over ranks is summed over the ranks again"},
    {"wrong-shard-order", 2, "--tp 2", "decoder.layer.{L}.attn/attn.proj", "shard-mismatch", "",
     "a tensor-parallel rank uses the next rank's shard of the projection"},
    {"wrong-gather-order", 2, "--tp 2 --sp", "decoder.layer.{L}.attn/attn.norm.gather", "shard-mismatch", "",
     "the row shards of a sequence-parallel gather are put together in reverse order"},
    {"averaged-norm-gradient", 2, "--tp 2 --sp", "decoder.layer.{L}.attn/attn.norm.gradient.reduce_rows",
     "wrong-divisor", "", "the gradient of a norm's weight is averaged over row shards instead of summed"},
    {"unreduced-norm-gradient", 2, "--tp 2 --sp", "decoder.layer.{L}.attn/attn.norm.gradient.reduce_rows",
     "missing-reduction", "", "the gradient of a norm's weight is not summed over row shards"},
    {"mean-of-means", 2, "--batch 3", "decoder.final/loss.reduce", "wrong-weighting", "",
     "the mean loss of ranks with 2 and 1 sequences is their plain mean"},
    {"perturbed-weights", 2, "", "decoder.layer.{L}.attn/attn.q", "replica-divergence", "1",
     "the last rank has another element in a weight that all ranks hold"},
    {"unrestored-rng", 2, "--tp 2 --dropout 0.1 --recompute", "decoder.layer.{L}.attn/attn.dropout",
     "recompute-mismatch", "", "the second forward pass of a layer draws other dropout masks"},
    {"flushing-rank", 2, "--loss-scale 1e-33", "decoder.final/loss.gradient", "op-underflow", "1",
     "the last rank flushes subnormal numbers to zero"},
    {"stale-gather", 2, "--zero", "decoder.layer.{L}.attn/attn.q.gather", "replica-divergence", "1",
     "the last rank does not take the new weight that the owners of its pieces computed"},
    {"wrong-context-order", 2, "--cp 2", "decoder.layer.{L}.attn/attn.k.gather", "shard-mismatch", "",
     "the zig-zag shards of the keys are put together in reverse order"},
    {"wrong-expert", 2, "--experts 4", "decoder.layer.{L}.mlp.expert.0/mlp.gate", "shard-mismatch", "0",
     "experts of the first rank use the gate weights of the next expert"},
    {"undivided-gradients", 2, "--pp 2 --micro-batches 2", "decoder.layer.{L}.attn/attn.q.gradient.mean",
     "factor-missing", "{S}", "gradients of the micro-batches are added up and not divided by their number"},
    {nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr},
};

void print_faults() {
  std::printf("name\tranks\toptions\top\tcause\tat\twhat it does\n");
  const auto or_dash = [](const char* text) { return *text == '\0' ? "-" : text; };
  for (const fault_entry* f = fault_table; f->name != nullptr; ++f)
    std::printf("%s\t%d\t%s\t%s\t%s\t%s\t%s\n", f->name, f->ranks, or_dash(f->options), f->op, f->cause,
                or_dash(f->at), f->text);
}

bool is_fault(const std::string& name) {
  for (const fault_entry* f = fault_table; f->name != nullptr; ++f)
    if (name == f->name) return true;
  return false;
}

}  // namespace minigpt

#include "faults.hpp"

#include <cstdio>
#include <cstring>

namespace minigpt {

const fault_entry fault_table[] = {
    {"masked-row", "-", "decoder.layer.{L}.attn/attn.mask", "fully-masked-row",
     "the mask hides a whole row of scores"},
    {"score-overflow", "--precision fp16 --loss-scale 1024 --query-gain 80",
     "decoder.layer.{L}.attn/attn.scores", "score-overflow",
     "scores are stored before they are scaled by 1/sqrt(d)"},
    {"missing-loss-scale", "--precision fp16", "decoder.final/loss.gradient", "loss-scale",
     "the gradient of the loss is not multiplied by the loss scale that is later divided out"},
    {"stale-amax", "--precision fp8 --fp8 delayed", "decoder.layer.{L}.attn/attn.x.cast", "stale-scale",
     "the scale follows an amax of 16 times smaller values"},
    {"bf16-wire", "ranks", "decoder.layer.{L}.attn/{R}", "low-precision-communication",
     "a reduction declared with the run's wire format travels in bf16"},
    {"missing-all-reduce", "ranks", "decoder.layer.{L}.attn/{R}", "missing-reduction",
     "a rank goes on with its own part of a sum"},
    {"duplicate-reduction", "ranks", "decoder.layer.{L}.attn/{R}", "duplicate-reduction",
     "a sum over ranks is summed over the ranks again"},
    {"wrong-shard-order", "--tp", "decoder.layer.{L}.attn/attn.proj", "shard-mismatch",
     "a tensor-parallel rank uses the next rank's shard of the projection"},
    {"truncating-residual", "--precision bf16", "decoder.layer.{L}.attn/attn.residual", "truncating-cast",
     "the residual sum is cut to bf16 toward zero"},
    {"bf16-weights", "-", "decoder.layer.{L}.attn/attn.q.adamw", "lost-update",
     "the query weight has no master copy: its update is rounded to bf16"},
    {"naive-variance", "--norm layer", "decoder.layer.{L}.attn/attn.norm", "cancellation",
     "the variance is E[x^2] - E[x]^2, summed in bf16"},
    {"bf16-positions", "--position-offset 4001", "decoder.layer.{L}.attn/attn.rope_q",
     "unrepresentable-integer", "positions pass through bf16 before RoPE"},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

void print_faults() {
  std::printf("name\toptions\top\tcause\twhat it does\n");
  for (const fault_entry* f = fault_table; f->name != nullptr; ++f)
    std::printf("%s\t%s\t%s\t%s\t%s\n", f->name, f->options, f->op, f->cause, f->text);
}

bool is_fault(const std::string& name) {
  for (const fault_entry* f = fault_table; f->name != nullptr; ++f)
    if (name == f->name) return true;
  return false;
}

}  // namespace minigpt

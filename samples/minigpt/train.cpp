#include "train.hpp"

#include <fstream>

#include "data.hpp"
#include "faulty_rank.hpp"
#include "network.hpp"
#include "optimizer.hpp"
#include "pipeline.hpp"
#include "recording.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

// On purpose too high for the first steps of a healthy fp16 run: gradients overflow, and the steps are
// skipped.
double first_loss_scale(const options& o) {
  if (o.loss_scale > 0) return o.loss_scale;
  return o.numbers == precision::fp16 ? 4096.0 * double(o.batch * o.sequence) : 1;
}

void write_log(const options& o, const training& done) {
  if (o.loss_log.empty()) return;
  std::ofstream log(o.loss_log);
  log << "step,loss\n";
  for (std::size_t i = 0; i < done.losses.size(); ++i) log << i << ',' << done.losses[i] << '\n';
}

void finish(const options& o, const training& done, std::FILE* out) {
  write_log(o, done);
  if (out == nullptr) return;
  std::fprintf(out, "trained %lld steps, %lld applied, final loss %.9g\n", static_cast<long long>(o.steps),
               static_cast<long long>(done.applied), done.losses.empty() ? 0 : done.losses.back());
  if (o.weights_digest) std::fprintf(out, "weights %016llx\n", static_cast<unsigned long long>(done.weights));
}

}  // namespace

training train(const options& o, const ranks& world, std::FILE* out) {
  engine e(o, world);
  e.loss_scale = first_loss_scale(o);
  const text_data data(o);
  network net(e);
  shard_states(e, net.weights());
  recording record(e);
  const bool speaks = world.rank() == 0;
  training done;
  for (e.step = 0; e.step < o.steps; ++e.step) {
    NUMDIFF_STEP(e.step);
    NUMDIFF_MICRO_BATCH(0);
    record.set_update(e.update);
    plant_in_rank(e, net.weights());
    const double loss_scale = e.loss_scale;
    double loss = 0;
    for (e.micro_batch = 0; e.micro_batch < o.micro_batches; ++e.micro_batch) {
      NUMDIFF_MICRO_BATCH(e.micro_batch);
      loss += net.forward(e, data.batch(e)) / double(o.micro_batches);
    }
    done.losses.push_back(from_last_stage(e, loss));
    {
      NUMDIFF_FACTOR("loss_scale", loss_scale);
      for (e.micro_batch = 0; e.micro_batch < o.micro_batches; ++e.micro_batch) {
        NUMDIFF_MICRO_BATCH(e.micro_batch);
        net.backward(e);
        accumulate(e, net.weights());
      }
      e.micro_batch = 0;
      reduce_gradients(e, net.weights());
    }
    const step_result result = optimize(e, net.weights());
    if (speaks && out != nullptr) {
      std::fprintf(out, "step %lld loss %.6f norm %.5g scale %g", static_cast<long long>(e.step),
                   done.losses.back(), result.norm, loss_scale);
      if (net.top_k_hits() >= 0)
        std::fprintf(out, " top-%lld %.3f", static_cast<long long>(o.top_k), net.top_k_hits());
      std::fputs(result.applied ? "\n" : " skipped\n", out);
    }
  }
  done.applied = e.update;
  done.weights = digest(net.weights());
  if (speaks) finish(o, done, out);
  return done;
}

}  // namespace minigpt

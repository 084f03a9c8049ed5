#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "data.hpp"
#include "network.hpp"
#include "optimizer.hpp"
#include "recording.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

// GradScaler's habit, on purpose too high for the first steps of a healthy run: they are skipped.
double first_loss_scale(const options& o) {
  if (o.numbers != precision::fp16) return 1;
  return o.loss_scale > 0 ? o.loss_scale : 65536.0 * 16 * double(o.batch * o.sequence) / 64;
}

void train(const options& o, const ranks& world) {
  engine e(o, world);
  e.loss_scale = first_loss_scale(o);
  const text_data data(o);
  network net(e);
  recording record(e);
  std::ofstream log;
  const bool speaks = world.rank() == 0;
  if (speaks && !o.loss_log.empty()) log.open(o.loss_log);
  if (log.is_open()) log << "step,loss\n";

  double loss = 0;
  for (e.step = 0; e.step < o.steps; ++e.step) {
    NUMDIFF_STEP(e.step);
    NUMDIFF_MICRO_BATCH(0);
    record.set_update(e.update);
    const double scale = e.loss_scale;
    loss = net.forward(e, data.batch(e));
    {
      NUMDIFF_FACTOR("loss_scale", scale);
      net.backward(e);
      reduce_gradients(e, net.weights());
    }
    const step_result result = optimize(e, net.weights());
    if (speaks)
      std::printf("step %lld loss %.6f norm %.5g scale %g%s\n", static_cast<long long>(e.step), loss, result.norm,
                  scale, result.applied ? "" : " skipped");
    if (log.is_open()) log << e.step << ',' << loss << '\n';
  }
  if (!speaks) return;
  std::printf("trained %lld steps, %lld applied, final loss %.9g\n", static_cast<long long>(o.steps),
              static_cast<long long>(e.update), loss);
  if (o.weights_digest) std::printf("weights %016llx\n", static_cast<unsigned long long>(digest(net.weights())));
}

}  // namespace
}  // namespace minigpt

int main(int argc, char** argv) {
  try {
    minigpt::ranks world(&argc, &argv);
    const minigpt::options o = minigpt::parse(argc, argv);
    if (o.list_faults) {
      minigpt::print_faults();
      return 0;
    }
    if (!o.fault.empty() && !minigpt::is_fault(o.fault)) throw std::runtime_error("unknown fault " + o.fault);
    world.split(o.tensor_parallel);
    minigpt::train(o, world);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "minigpt: %s\n", error.what());
    return 2;
  }
}

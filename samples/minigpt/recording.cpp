#include "recording.hpp"

#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "numdiff/config.hpp"

#if NUMDIFF_ENABLE
#include <numdiff/session.hpp>
#endif

namespace minigpt {

#if NUMDIFF_ENABLE

namespace {

// One name for all ranks: that of rank 0.
std::string run_id(const engine& e) {
  if (!e.config.run_id.empty()) return e.config.run_id;
  std::int64_t drawn[2] = {std::time(nullptr), getpid()};
  const group& all = e.world.all();
  for (std::int32_t other = 1; other < all.size(); ++other) {
    if (all.at == 0) e.world.send(all, other, drawn, sizeof drawn);
    if (all.at == other) e.world.receive(all, 0, drawn, sizeof drawn);
  }
  return "minigpt-" + std::to_string(drawn[0]) + "-" + std::to_string(drawn[1]);
}

numdiff::level level_of(const std::string& name) {
  if (name == "off") return numdiff::level::off;
  if (name == "stats") return numdiff::level::stats;
  return name == "tensors" ? numdiff::level::tensors : numdiff::level::sketch;
}

void describe(const numdiff::session& s, const engine& e) {
  const options& o = e.config;
  for (int i = 0; i < axes; ++i)
    s.mesh(axis_names[i], e.world.size(static_cast<axis>(i)), e.world.at(static_cast<axis>(i)));
  s.manifest("program", "minigpt", numdiff::manifest_class::record);
  s.manifest("minigpt.precision", name_of(o.numbers));
  if (o.numbers == precision::fp8) s.manifest("minigpt.fp8", name_of(o.fp8));
  s.manifest("minigpt.accumulator", name_of(o.accumulate));
  s.manifest("minigpt.wire", name_of(o.wire));
  s.manifest("minigpt.order", name_of(o.order));
  s.manifest("minigpt.seed", std::to_string(o.seed).c_str());
}

}  // namespace

struct recording::session {
  numdiff::session open;
};

recording::recording(const engine& e) {
  if (e.config.run.empty()) return;  // NUMDIFF_FILE may still open one at the first probe
  const std::string id = run_id(e);
  numdiff::session_options o;
  o.file = e.config.run.c_str();
  o.level = level_of(e.config.level);
  if (!e.config.select.empty()) o.select = e.config.select.c_str();
  if (!e.config.capture_steps.empty()) o.steps = e.config.capture_steps.c_str();
  o.run_id = id.c_str();
  o.world_size = e.world.size();
  o.rank = e.world.rank();
  o.wait_ms = 60000;  // a complete file matters more here than a fast step
  session_.reset(new session{numdiff::session(o)});
  if (!session_->open.active())
    std::fprintf(stderr, "minigpt: nothing is captured: %s\n", numdiff::session::last_error());
  describe(session_->open, e);
}

void recording::set_update(std::int64_t updates) {
  if (session_) session_->open.set_update(updates);
}

#else

struct recording::session {};
recording::recording(const engine&) {}
void recording::set_update(std::int64_t) {}

#endif

recording::~recording() = default;

}  // namespace minigpt

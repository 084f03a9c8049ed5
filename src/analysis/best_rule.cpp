#include "analysis/best_rule.hpp"

#include <utility>
#include <vector>

#include "analysis/lookup.hpp"

namespace numdiff::analysis {

const rule* best_rule::offer(const logical_capture& c, const evidence& e, const local_judgement* local,
                             bool passes_on) {
  std::vector<const rule*> others;
  const rule* fired = decide(e, others);
  if (fired == nullptr) return nullptr;
  const auto name = [](const rule& r) { return std::string(r.id) + " " + r.symptom + " " + r.cause; };
  for (const rule* o : others) explained_.insert(name(*o));
  if (best_ != nullptr && fired >= best_) {
    explained_.insert(name(*fired));
    return fired;
  }
  if (best_ != nullptr) explained_.insert(name(*best_));
  best_ = fired;
  found_.where = run_.index.place_of(c);
  if (local != nullptr) found_.where.ranks = local->ranks;
  if (e.unequal_replica >= 0) found_.where.ranks = {e.unequal_replica};
  if (e.gap != gap::none) found_.where.ranks = {run_.flow.of(position(run_, &c)).world_rank};
  if (run_.index.run().world_size == 1) found_.where.ranks.clear();
  found_.rule = fired->id;
  found_.symptom = fired->symptom;
  if (found_.symptom == "nan" && c.written && e.own->nan == 0 && e.own->nonfinite() > 0)
    found_.symptom = "inf";
  found_.cause = fired->cause;
  found_.control = fired->control;
  found_.evidence = numbers_of(e);
  found_.message = fired->message;
  if (e.local != nullptr && !e.local->reason.empty() && e.local->v == verdict::beyond) {
    found_.message += " (" + e.local->reason + ")";
  } else if (e.broken && fired->symptom == std::string_view("invariant")) {
    found_.message += " (" + e.broken->clause + ")";
  }
  found_.seen_in = e.seen_in;
  found_.benign = fired->benign;
  found_.is_root = !fired->benign && !passes_on;
  return fired;
}

std::optional<finding> best_rule::take(std::uint64_t order) {
  if (best_ == nullptr) return std::nullopt;
  explained_.erase(found_.rule + " " + found_.symptom + " " + found_.cause);
  found_.explains.assign(explained_.begin(), explained_.end());
  found_.order = order;
  return std::move(found_);
}

}  // namespace numdiff::analysis

#include "analysis/best_rule.hpp"

#include <utility>
#include <vector>

#include "analysis/lookup.hpp"

namespace numdiff::analysis {

namespace {

// What elements are off, where single ones are.
std::string clause_of(const located& culprits) {
  if (culprits.swapped) {
    const swapped_elements& s = *culprits.swapped;
    return " (elements " + std::to_string(s.first) + " of rank " + std::to_string(s.first_rank) + " and " +
           std::to_string(s.second) + " of rank " + std::to_string(s.second_rank) +
           (s.pairs > 1 ? ", and " + std::to_string(s.pairs - 1) + " more" : "") + ")";
  }
  if (culprits.held_in_one)
    return " (whose part cannot be told: the other run keeps those of several ranks in one)";
  if (!culprits.element) return "";
  return " (only element " + std::to_string(culprits.element->index) + " differs" +
         (culprits.element->bit >= 0 ? ", by one bit)" : ")");
}

// Whether an error came in on the way between ranks, with what the program was given, or in the op.
bringer bringer_of(const logical_capture& c, const evidence& e, const rule& fired) {
  const std::string_view cause = fired.cause;
  if (e.collective || cause == "missing-reduction" || cause == "duplicate-reduction" ||
      cause == "low-precision-communication" || e.gap == gap::foreign_rank)
    return bringer::communication;
  if (e.source == source_state::differs || e.source == source_state::permuted ||
      e.source == source_state::rescaled)
    return bringer::given;
  return c.written || c.role == role::scalar ? bringer::local_op : bringer::unknown;
}

}  // namespace

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
  name_ranks(c, e, local);
  // Where a replay accuses ranks, the replicas differ because of them.
  if (e.unequal_replica >= 0 && !e.group_broken && (local == nullptr || local->ranks.empty()))
    found_.where.ranks = {e.unequal_replica};
  if (e.gap != gap::none) found_.where.ranks = run_.flow.of(position(run_, &c)).ranks;
  if (run_.index.run().world_size == 1) {
    found_.where.ranks.clear();
  }
  found_.where.all_ranks = found_.where.ranks.size() > 1 &&
                           found_.where.ranks.size() == static_cast<std::size_t>(run_.index.run().world_size);
  found_.brought_by = bringer_of(c, e, *fired);
  found_.rule = fired->id;
  found_.symptom = fired->symptom;
  if (found_.symptom == "mismatch" && e.nonfinite_created) found_.symptom = "nan";
  if (found_.symptom == "nan" && c.written && e.own->nan == 0 && e.own->nonfinite() > 0)
    found_.symptom = "inf";
  const judgement* own = e.local;
  if (found_.symptom == "saturation" && own != nullptr && own->saturated == 0 && own->flushed > 0)
    found_.symptom = "underflow";
  found_.cause = fired->cause;
  found_.control = fired->control;
  found_.evidence = numbers_of(e);
  found_.message = fired->message;
  if (e.group_broken) {
    found_.message += " (" + e.group_broken->clause + ")";
  } else if (e.local != nullptr && !e.local->reason.empty() && e.local->v == verdict::beyond) {
    found_.message += " (" + e.local->reason + ")";
  } else if (e.divides_by_zero && fired->id == std::string_view("ND901")) {
    found_.message += " (divides by zero)";
  } else if (e.broken && fired->symptom == std::string_view("invariant")) {
    found_.message += " (" + e.broken->clause + ")";
  }
  found_.message += clause_of(e.culprits);
  found_.seen_in = e.seen_in;
  found_.benign = fired->benign;
  found_.is_root = !fired->benign && !passes_on;
  return fired;
}

// Replay knows the ranks by themselves; a distance only beside the other run's.
void best_rule::name_ranks(const logical_capture& c, const evidence& e, const local_judgement* local) {
  found_.where.ranks.clear();
  if (e.group_broken) {
    found_.where.ranks = e.group_broken->ranks;
  } else if (local != nullptr && !local->ranks.empty()) {
    found_.where.ranks = local->ranks;
  } else if (e.broken && !e.broken->ranks.empty()) {
    found_.where.ranks = e.broken->ranks;
  } else if (e.culprits.is != located::answer::unknown) {
    found_.where.ranks = e.culprits.ranks;
  } else if (c.members.size() == 1) {
    found_.where.ranks = {run_.index.rank_of(c.members.front()).rank};
  }
}

std::optional<finding> best_rule::take(std::uint64_t order) {
  if (best_ == nullptr) return std::nullopt;
  explained_.erase(found_.rule + " " + found_.symptom + " " + found_.cause);
  found_.explains.assign(explained_.begin(), explained_.end());
  found_.order = order;
  return std::move(found_);
}

}  // namespace numdiff::analysis

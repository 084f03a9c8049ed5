// Replays every op of run files by itself: observed / expected per kind, and a list of the outputs that are
// beyond.
#include <cstdio>
#include <map>
#include <string>

#include "analysis/index.hpp"
#include "analysis/local.hpp"
#include "measure/ratio_table.hpp"
#include "model/selection.hpp"
#include "store/load.hpp"

using numdiff::dtype;
using numdiff::analysis::judgement;
using numdiff::measure::observed;
using numdiff::measure::print;
namespace analysis = numdiff::analysis;
namespace model = numdiff::model;

namespace {

using table = std::map<std::string, observed>;

void of_run(const std::string& path, table& kinds) {
  const model::run run = numdiff::store::load_run(path);
  analysis::symbols names;
  const analysis::run_index index(run, names, {});
  std::map<std::string, int> skipped;
  for (const analysis::logical_op& op : index.ops()) {
    if (op.outside) continue;
    const analysis::local_result r = analysis::judge_locally(index, op);
    const std::string kind(index.kind_of(op));
    if (!r.done) ++skipped[kind + ": " + r.why_not];
    for (const analysis::local_judgement& w : r.outputs) {
      const judgement& j = w.worst;
      const auto& capture = index.captures()[static_cast<std::size_t>(w.capture)];
      const auto type = static_cast<dtype>(index.capture_row_of(capture.members.front()).dtype);
      kinds[kind + ", " + numdiff::name_of(type)].take(j);
      if (j.v == analysis::verdict::within && j.cause_hint.empty()) continue;
      std::printf(
          "%s: step %lld %s/%s %s: %s ratio %.3g limit %.3g n %.0f ulp %.3g bias %.2f factor %.5g over %g "
          "excess %g nonfinite %lld+%lld flushed %lld saturated %lld, %s: %s\n",
          kind.c_str(), static_cast<long long>(op.step), std::string(names.text(op.scope)).c_str(),
          std::string(names.text(op.name)).c_str(), std::string(names.text(capture.name)).c_str(),
          j.v == analysis::verdict::within   ? "within"
          : j.v == analysis::verdict::beyond ? "BEYOND"
                                             : "undecided",
          j.ratio, j.limit, j.effective_count, j.worst_ulp, j.bias, j.factor,
          j.evidence.size() > 3 ? j.evidence[1].second : -1,
          j.evidence.size() > 3 ? j.evidence[3].second : -1, static_cast<long long>(j.nonfinite_created),
          static_cast<long long>(j.nonfinite_replayed), static_cast<long long>(j.flushed),
          static_cast<long long>(j.saturated), j.cause_hint.c_str(), j.reason.c_str());
    }
  }
  for (const auto& [why, count] : skipped) std::printf("not replayed: %s (%d)\n", why.c_str(), count);
}

}  // namespace

int main(int argc, char** argv) {
  table kinds;
  for (int i = 1; i < argc; ++i) of_run(argv[i], kinds);
  print(kinds);
  return 0;
}

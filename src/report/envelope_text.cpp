#include "report/envelope_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/number.hpp"
#include "report/place.hpp"
#include "report/sections.hpp"
#include "report/table.hpp"

namespace numdiff::report {

namespace {

analysis::place place_of(const model::capture_place& c) {
  analysis::place p;
  p.step = c.step;
  p.micro_batch = c.micro_batch;
  p.phase = c.phase;
  p.scope = c.scope;
  p.op = c.op;
  p.call = static_cast<std::int32_t>(c.call);
  p.role = c.role;
  p.tensor = c.tensor;
  return p;
}

}  // namespace

std::string text(const analysis::measured_envelope& e, const style& s) {
  using row = std::pair<const model::capture_place, model::spread>;
  std::vector<const row*> widest;
  for (const row& r : e.envelope.spreads) widest.push_back(&r);
  std::ranges::stable_sort(
      widest, [](const row* a, const row* b) { return a->second.relative_l2 > b->second.relative_l2; });
  std::string out;
  if (!e.nondeterministic.empty()) {
    out += title(s, "Nondeterministic: executions of one program that differ");
    for (std::size_t i = 0; i < e.nondeterministic.size() && i < s.top; ++i)
      out += finding_line(e.nondeterministic[i], 1, s);
    out += residue(s, e.nondeterministic.size(), "");
  }
  table t({{"step"},
           {"rel. L2", align::right},
           {"pairs", align::right},
           {"different", align::right},
           {"op : tensor", align::left, cut::front}});
  for (std::size_t i = 0; i < widest.size() && i < s.top; ++i) {
    const model::spread& w = widest[i]->second;
    const analysis::place where = place_of(widest[i]->first);
    t.add({when(where), rounded(w.relative_l2), counted(std::uint64_t{w.pairs}),
           counted(std::uint64_t{w.different}), where_text(where)});
  }
  if (!widest.empty()) out += title(s, "Widest spread") + t.text(s) + residue(s, widest.size(), "");
  return out + fmt::format("\nnumdiff: envelope: {} of {}, {} not measured\n",
                           counted(std::uint64_t{widest.size()}, "tensor"),
                           counted(std::uint64_t{e.envelope.runs.size()}, "run"),
                           counted(e.envelope.not_measured));
}

}  // namespace numdiff::report

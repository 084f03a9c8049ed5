#include <fmt/format.h>

#include "model/path.hpp"
#include "report/json_value.hpp"
#include "report/show.hpp"
#include "report/tensor.hpp"

namespace numdiff::report {

namespace {

const char* type_name(std::uint16_t t) {
  return name_of(static_cast<dtype>(t));
}

ordered op_json(const model::rank_data& rank, const model::op_row& op, std::uint32_t call) {
  ordered j;
  j["rank"] = rank.rank;
  j["seq"] = op.seq;
  j["path"] = model::op_path(rank, op, call);
  j["step"] = json_index(op.step);
  j["update"] = json_index(op.update);
  j["micro_batch"] = json_index(op.micro_batch);
  j["phase"] = json_text(model::phase_name(static_cast<phase>(op.phase)));
  j["scope"] = json_text(rank.strings[op.scope]);
  j["op"] = json_text(rank.strings[op.name]);
  j["call"] = call;
  j["kind"] = json_text(rank.strings[op.kind]);
  j["input_dtype"] = type_name(op.input_dtype);
  j["input2_dtype"] = type_name(op.input2_dtype);
  j["accumulate_dtype"] = type_name(op.accumulate_dtype);
  j["output_dtype"] = type_name(op.output_dtype);
  j["m"] = json_index(op.m);
  j["n"] = json_index(op.n);
  j["k"] = json_index(op.k);
  j["reduction_length"] = json_index(op.reduction_length);
  j["algorithm"] = json_text(rank.strings[op.algorithm]);
  return j;
}

ordered cast_json(const model::cast_row& cast) {
  ordered j;
  j["source_dtype"] = type_name(cast.source_dtype);
  j["count"] = cast.count;
  j["beyond_maximum"] = cast.beyond_maximum;
  j["overflowing"] = cast.overflowing;
  j["flushed"] = cast.flushed;
  j["subnormal"] = cast.subnormal;
  j["nan"] = cast.nan;
  j["infinite"] = cast.infinite;
  j["amax"] = json_number(cast.amax);
  j["sum_sq"] = json_number(cast.sum_sq);
  j["clip_sq"] = json_number(cast.clip_sq);
  j["rounding_sq"] = json_number(cast.rounding_sq);
  j["underflow_sq"] = json_number(cast.underflow_sq);
  j["signed_error"] = json_number(cast.signed_error);
  return j;
}

ordered capture_json(const shown& item) {
  const model::capture_row& row = *item.row;
  const model::rank_data& rank = *item.rank;
  ordered j;
  j["rank"] = rank.rank;
  j["seq"] = row.seq;
  j["op_seq"] = row.op == 0 ? ordered(nullptr) : ordered(row.op);
  j["path"] = item.path;
  j["role"] = model::role_name(static_cast<role>(row.role));
  j["name"] = rank.strings[row.name];
  j["usage"] = json_text(model::usage_name(static_cast<usage>(row.usage)));
  j["level"] = model::level_name(static_cast<level>(row.level));
  j["dtype"] = type_name(row.dtype);
  j["shape"] = shape_of(rank, row);
  j["placement"] = json_text(rank.strings[row.placement]);
  j["scaling"] = json_text(rank.strings[row.scaling]);
  for (const auto& [name, count] :
       {std::pair{"count", row.count}, std::pair{"hidden", row.hidden}, std::pair{"nan", row.nan},
        std::pair{"positive_infinity", row.positive_infinity},
        std::pair{"negative_infinity", row.negative_infinity}, std::pair{"zero", row.zero},
        std::pair{"negative_zero", row.negative_zero}, std::pair{"subnormal", row.subnormal},
        std::pair{"maximum_positive", row.maximum_positive},
        std::pair{"maximum_negative", row.maximum_negative}})
    j[name] = count;
  j["first_nonfinite"] = json_index(row.first_nonfinite);
  for (const auto& [name, value] :
       {std::pair{"amax", row.amax}, std::pair{"smallest", row.smallest}, std::pair{"minimum", row.minimum},
        std::pair{"maximum", row.maximum}, std::pair{"pending_factor", row.pending_factor}})
    j[name] = json_number(value);
  const moments m = moments_of(row);
  j["mean"] = json_known(m.mean);
  j["rms"] = json_known(m.rms);
  j["digest"] = fmt::format("{:016x}{:016x}", row.digest0, row.digest1);
  j["values_kept"] = row.payload >= 0;
  const auto* cast = cast_of(rank, row);
  j["cast"] = cast != nullptr ? cast_json(*cast) : ordered(nullptr);
  return j;
}

ordered detailed_json(const shown& item, const style& s) {
  ordered j = capture_json(item);
  const model::histogram h = histogram_of(*item.rank, item.row->histogram, item.row->histogram_bytes);
  j["histogram"] = h.counts.empty() ? ordered(nullptr) : ordered{{"first", h.first}, {"counts", h.counts}};
  std::string why;
  j["first_values"] = ordered::array();
  for (const double value : first_values(*item.rank, *item.row, s.top, why))
    j["first_values"].push_back(json_number(value));
  return j;
}

ordered rank_json(const model::rank_data& rank) {
  ordered j;
  j["rank"] = rank.rank;
  j["path"] = rank.path;
  j["ops"] = rank.ops.size();
  j["captures"] = rank.captures.size();
  j["closed"] = rank.closed;
  j["cut_rows"] = rank.cut_rows;
  j["unknown_rows"] = rank.unknown_rows;
  const model::drop_counts& d = rank.drops;
  j["dropped"] = ordered{{"captures", d.captures}, {"ops", d.ops},           {"events", d.events},
                         {"values", d.values},     {"sketches", d.sketches}, {"histograms", d.histograms}};
  j["manifest"] = ordered::object();
  for (const auto& [key, entry] : rank.manifest) j["manifest"][key] = entry.value;
  return j;
}

}  // namespace

std::string show_json(const model::run& run, const model::selection& select, std::string_view tensor,
                      const style& s) {
  ordered j;
  j["schema"] = "numdiff-show/1";
  j["path"] = run.path;
  j["run_id"] = run.run_id;
  j["world_size"] = run.world_size;
  j["missing_ranks"] = run.missing;
  j["warnings"] = run.warnings;
  j["ranks"] = ordered::array();
  j["ops"] = ordered::array();
  j["captures"] = ordered::array();
  for (const model::rank_data& rank : run.ranks) {
    if (!select.has_rank(rank.rank)) continue;
    j["ranks"].push_back(rank_json(rank));
    const auto calls = model::call_numbers(rank);
    for (std::size_t i = 0; tensor.empty() && i < rank.ops.size(); ++i)
      if (select.has(rank, rank.ops[i])) j["ops"].push_back(op_json(rank, rank.ops[i], calls[i]));
  }
  for (const shown& item : select_captures(run, select, tensor))
    j["captures"].push_back(tensor.empty() ? capture_json(item) : detailed_json(item, s));
  return json_dump(j);
}

}  // namespace numdiff::report

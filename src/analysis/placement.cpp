#include "analysis/placement.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace numdiff::analysis {

namespace {

numdiff::spread spread_of(std::string_view name) {
  if (name == "sharded") return spread::sharded;
  if (name == "replicated") return spread::replicated;
  if (name == "partial_sum") return spread::partial_sum;
  if (name == "partial_average") return spread::partial_average;
  if (name == "partial_max") return spread::partial_max;
  if (name == "partial_min") return spread::partial_min;
  return spread::unknown;
}

bool is_partial(numdiff::spread s) noexcept {
  return s >= spread::partial_sum;
}

placement parse(std::string_view text) {
  placement p;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return p;
  try {
    for (const auto& axis : json.value("mesh", nlohmann::json::array())) {
      mesh_axis a;
      a.name = axis.value("axis", std::string());
      a.size = axis.value("size", std::int64_t{1});
      a.at = axis.value("at", std::int64_t{0});
      a.spread = spread_of(axis.value("spread", std::string()));
      a.dim = axis.value("dim", -1);
      p.mesh.push_back(std::move(a));
    }
    p.global = json.value("global", std::vector<std::int64_t>());
    for (const auto& range : json.value("box", nlohmann::json::array())) {
      p.box.push_back({range.at(0).get<std::int64_t>(), range.at(1).get<std::int64_t>()});
    }
    for (const auto& list : json.value("ranges", nlohmann::json::array())) {
      auto& ranges = p.ranges.emplace_back();
      if (!list.is_array()) continue;
      for (const auto& range : list)
        ranges.push_back({range.at(0).get<std::int64_t>(), range.at(1).get<std::int64_t>()});
    }
    for (const auto& piece : json.value("flat", nlohmann::json::array())) {
      p.flat.push_back({piece.at(0).get<std::int64_t>(), piece.at(1).get<std::int64_t>(),
                        piece.at(2).get<std::int64_t>()});
    }
    p.ids = json.value("ids", -1);
    p.told = true;
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  nlohmann::json part = nlohmann::json::array();
  for (const char* key : {"box", "ranges", "flat"})
    if (json.contains(key)) part.push_back(json[key]);
  p.part_by_rank = p.ids >= 0;
  for (const mesh_axis& a : p.mesh) {
    const bool by_ids = p.ids >= 0 && a.spread == spread::sharded;
    p.part_by_rank = p.part_by_rank && !by_ids;
    if (by_ids || a.spread == spread::unknown) part.push_back({a.name, a.at});
  }
  p.region = part.dump();
  for (const mesh_axis& a : p.mesh)
    if (is_partial(a.spread)) part.push_back({a.name, a.at});
  p.part = part.dump();
  return p;
}

}  // namespace

const mesh_axis* placement::partial() const noexcept {
  const auto at =
      std::ranges::find_if(mesh, [](const mesh_axis& a) { return is_partial(a.spread) && a.size > 1; });
  return at == mesh.end() ? nullptr : &*at;
}

std::int64_t placement::terms() const noexcept {
  std::int64_t n = 1;
  for (const mesh_axis& a : mesh)
    if (is_partial(a.spread)) n *= a.size;
  return n;
}

double placement::part_scale() const noexcept {
  double scale = 1;
  for (const mesh_axis& a : mesh)
    if (a.spread == spread::partial_average) scale /= static_cast<double>(a.size);
  return scale;
}

std::int64_t placement::elements() const noexcept {
  std::int64_t n = 1;
  for (const std::int64_t extent : global) n *= extent;
  return n;
}

const placement& placement_cache::of(std::string_view text) {
  const auto known = parsed_.find(text);
  if (known != parsed_.end()) return known->second;
  return parsed_.emplace(std::string(text), text.empty() ? placement{} : parse(text)).first->second;
}

std::int64_t elements_of(const model::shape_row& shape) noexcept {
  std::int64_t n = 1;
  for (std::uint32_t d = 0; d < shape.rank && d < 8; ++d) n *= shape.extent[d];
  return n;
}

}  // namespace numdiff::analysis

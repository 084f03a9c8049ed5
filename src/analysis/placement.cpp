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
  if (json.contains("box")) part.push_back(json["box"]);
  if (json.contains("flat")) part.push_back(json["flat"]);
  if (p.ids >= 0) part.push_back(json["mesh"]);
  for (const mesh_axis& a : p.mesh) {
    if (is_partial(a.spread) || a.spread == spread::unknown) part.push_back({a.name, a.at});
  }
  p.part = part.dump();
  return p;
}

}  // namespace

const mesh_axis* placement::partial() const noexcept {
  const auto at =
      std::ranges::find_if(mesh, [](const mesh_axis& a) { return is_partial(a.spread) && a.size > 1; });
  return at == mesh.end() ? nullptr : &*at;
}

std::int64_t placement::elements() const noexcept {
  std::int64_t n = 1;
  for (const std::int64_t extent : global) n *= extent;
  return n;
}

const placement& placement_cache::of(std::string_view text) {
  const auto known = parsed_.find(std::string(text));
  if (known != parsed_.end()) return known->second;
  return parsed_.emplace(std::string(text), text.empty() ? placement{} : parse(text)).first->second;
}

std::int64_t elements_of(const model::shape_row& shape) noexcept {
  std::int64_t n = 1;
  for (std::uint32_t d = 0; d < shape.rank && d < 8; ++d) n *= shape.extent[d];
  return n;
}

bool fits(const placement& where, const model::shape_row& shape, std::span<const std::int64_t> ids) {
  const std::int64_t count = elements_of(shape), all = where.elements();
  if (!where.flat.empty()) {
    return std::ranges::all_of(where.flat, [&](const auto& piece) {
      const auto& [global, local, length] = piece;
      return local >= 0 && length >= 0 && local <= count - length && global >= 0 && global <= all - length;
    });
  }
  // Complex views have parts as a last dimension that the placement does not name.
  if (where.global.size() != shape.rank) return false;
  for (std::size_t d = 0; d < shape.rank; ++d) {
    if (static_cast<int>(d) == where.ids) {
      if (ids.size() != static_cast<std::size_t>(shape.extent[d])) return false;
      if (!std::ranges::all_of(ids, [&](std::int64_t id) { return id >= 0 && id < where.global[d]; }))
        return false;
      continue;
    }
    const std::int64_t begin = d < where.box.size() ? where.box[d][0] : 0;
    if (begin < 0 || begin + shape.extent[d] > where.global[d]) return false;
  }
  return true;
}

}  // namespace numdiff::analysis

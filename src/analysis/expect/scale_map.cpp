#include "analysis/expect/scale_map.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace numdiff::analysis::expect {
namespace {

void number_blocks(scale_map& map, const std::vector<std::int64_t>& shape,
                   const std::vector<std::int64_t>& extent) {
  if (shape.size() > map.shape.size())
    throw std::runtime_error("scales of a tensor of more than 8 dimensions");
  map.rank = shape.size();
  map.groups = 1;
  for (std::size_t d = 0; d < map.rank; ++d) {
    if (extent[d] <= 0) throw std::runtime_error("a scale block without extent");
    map.shape[d] = static_cast<std::size_t>(shape[d]);
    map.extent[d] = static_cast<std::size_t>(extent[d]);
    map.blocks[d] = static_cast<std::size_t>((shape[d] + extent[d] - 1) / extent[d]);
    map.groups *= map.blocks[d];
  }
}

}  // namespace

double global_scale_of(std::string_view scaling) {
  if (scaling.find("global") == std::string_view::npos) return 1;
  const auto json = nlohmann::json::parse(scaling, nullptr, false);
  return json.is_object() ? json.value("global", 1.0) : 1;
}

scale_map scale_map_of(std::string_view scaling, const std::vector<std::int64_t>& shape) {
  const auto json = nlohmann::json::parse(scaling, nullptr, false);
  if (!json.is_object()) throw std::runtime_error("a scaling that is not JSON");
  const std::string granularity = json.value("granularity", "tensor");
  if (json.value("layout", "linear") != "linear")
    throw std::runtime_error("scales in a layout that is not linear");
  scale_map map;
  map.global = json.value("global", 1.0);
  map.encodes = json.value("direction", "decode") == "encode";
  if (granularity == "tensor") return map;
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (rank == 0) throw std::runtime_error("scales per block of a tensor without dimensions");
  std::int64_t axis = json.value("axis", std::int64_t{-1});
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) throw std::runtime_error("a scale axis outside the tensor");
  std::vector<std::int64_t> extent = shape;
  for (std::int64_t& e : extent) e = e > 0 ? e : 1;
  const auto last = static_cast<std::size_t>(rank - 1);
  if (granularity == "row") {
    extent[0] = 1;
  } else if (granularity == "column") {
    extent[last] = 1;
  } else if (granularity == "block") {
    const auto block = json.value("block", std::vector<std::int64_t>{});
    if (block.size() != 2) throw std::runtime_error("a block scaling without its two extents");
    extent.assign(shape.size(), 1);
    extent[last] = block[1];
    if (rank > 1) extent[last - 1] = block[0];
  } else if (granularity == "mx" || granularity == "nvfp4") {
    extent.assign(shape.size(), 1);
    extent[static_cast<std::size_t>(axis)] = granularity == "mx" ? 32 : 16;
    map.finest = true;
  } else {
    throw std::runtime_error("a scaling of unknown granularity");
  }
  number_blocks(map, shape, extent);
  return map;
}

}  // namespace numdiff::analysis::expect

#include "analysis/build_run.hpp"

#include "numdiff/detail/runtime/observe_input.hpp"

namespace numdiff::detail {

bool observe_for_test(const observe_input& in, observation& out) noexcept;  // observe_under_test.cpp

}  // namespace numdiff::detail

namespace numdiff::testing {

namespace {

std::string placement_text(const held& what, const std::vector<std::int64_t>& shape) {
  std::string json = "{\"mesh\":" + what.mesh + ",\"global\":[";
  const auto& global = what.global.empty() ? shape : what.global;
  for (std::size_t d = 0; d < global.size(); ++d) json += (d ? "," : "") + std::to_string(global[d]);
  json += "],\"box\":[";
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t begin = what.begin.empty() ? 0 : what.begin[d];
    json += std::string(d ? "," : "") + "[" + std::to_string(begin) + "," + std::to_string(begin + shape[d]) +
            "]";
  }
  return json + "]}";
}

}  // namespace

model::capture_row& rank_builder::capture(role r, const std::string& name, const held& what) {
  std::vector<std::int64_t> shape = what.shape;
  if (shape.empty() && what.values.size() != 1) shape = {static_cast<std::int64_t>(what.values.size())};
  std::vector<std::byte> codes(what.values.size() * bytes_of(what.type));
  cast_rule rule;
  rule.round = what.mode;
  std::vector<double> over = what.values;
  if (what.scale != 0) {
    for (double& v : over) v /= static_cast<double>(what.scale);
  }
  encode(what.type, over.data(), codes.data(), over.size(), rule);
  detail::observe_input in;
  if (what.scale != 0) {
    in.scaling.granularity = granularity::tensor;
    in.scaling.scales = &what.scale;
  }
  in.tensor.data = codes.data();
  in.tensor.type = what.type;
  in.tensor.rank = static_cast<std::uint32_t>(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    in.tensor.extent[d] = shape[d];
    in.tensor.stride[d] = stride;
    stride *= shape[d];
  }
  if (!what.global.empty()) {
    in.map.is = detail::global_map::kind::box;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      in.map.begin[d] = what.begin[d];
      in.map.global_extent[d] = what.global[d];
    }
  }
  in.level = level_;
  detail::observation seen;
  seen.row = {};
  detail::observe_for_test(in, seen);
  model::capture_row row = seen.row;
  row.seq = ++seq_;
  row.op = outside_ || data_.ops.empty() ? 0 : data_.ops.back().seq;
  row.name = text(name);
  row.role = static_cast<std::uint16_t>(r);
  row.dtype = static_cast<std::uint16_t>(what.type);
  row.level = static_cast<std::uint16_t>(level_);
  row.pending_factor = what.pending_factor;
  row.payload = row.scale_payload = row.zero_point_payload = row.index_payload = -1;
  row.sketch = row.histogram = -1;
  if (seen.has_sketch) {
    row.sketch = static_cast<std::int64_t>(data_.sketches.size());
    model::sketch sketch;
    std::copy(std::begin(seen.sketch), std::end(seen.sketch), sketch.begin());
    data_.sketches.add(sketch);
  }
  if (!seen.histogram.empty()) {
    row.histogram = static_cast<std::int64_t>(data_.histograms.size());
    row.histogram_bytes = static_cast<std::uint32_t>(seen.histogram.size());
    data_.histograms.insert(data_.histograms.end(), seen.histogram.begin(), seen.histogram.end());
  }
  if (seen.has_values) row.payload = payload_->add(what.type, seen.values);
  if (what.scale != 0) {
    row.scaling = text(R"({"granularity":"tensor","direction":"decode","layout":"linear"})");
    row.scale_dtype = static_cast<std::uint16_t>(dtype::f32);
    if (seen.has_values) row.scale_payload = payload_->add(dtype::f32, seen.scale_values);
  }
  model::shape_row extents{};
  extents.rank = in.tensor.rank;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    extents.extent[d] = in.tensor.extent[d];
    extents.stride[d] = in.tensor.stride[d];
  }
  row.shape = static_cast<std::uint32_t>(data_.shapes.size());
  data_.shapes.push_back(extents);
  if (!what.mesh.empty()) row.placement = text(placement_text(what, shape));
  data_.captures.push_back(row);
  outside_ = false;
  return data_.captures.back();
}

}  // namespace numdiff::testing

#pragma once
// Builds runs in memory, observed by the same pass that captures use.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/run.hpp"
#include "numdiff/convert.hpp"

namespace numdiff::testing {

// Payloads by dtype, in memory.
class memory_payload : public model::payload_source {
 public:
  std::int64_t add(dtype type, const std::vector<std::byte>& bytes) {
    std::vector<std::byte>& all = codes_[type];
    const auto at = static_cast<std::int64_t>(all.size() / bytes_of(type));
    all.insert(all.end(), bytes.begin(), bytes.end());
    return at;
  }
  void read(dtype type, std::int64_t first, std::span<std::byte> out) const override {
    std::memcpy(out.data(), codes_.at(type).data() + static_cast<std::size_t>(first) * bytes_of(type),
                out.size());
    ++reads;
    const auto n = static_cast<std::int64_t>(out.size() / bytes_of(type));
    numbers += n;
    longest = std::max(longest, n);
  }
  mutable int reads = 0;
  mutable std::int64_t numbers = 0, longest = 0;

 private:
  std::map<dtype, std::vector<std::byte>> codes_;
};

// What one rank holds of a tensor: values of its view and where they lie.
struct held {
  std::vector<double> values;
  dtype type = dtype::f32;
  std::vector<std::int64_t> shape;          // empty: one dimension
  std::vector<std::int64_t> begin, global;  // box; empty: rank-local
  std::string mesh;                         // JSON list of axes
  double pending_factor = 1;
  rounding mode = rounding::nearest_even;
  float scale = 0;  // codes are values over this; 0: not scaled
};

inline held whole(std::vector<double> values, dtype type = dtype::f32, std::vector<std::int64_t> shape = {}) {
  return {std::move(values), type, std::move(shape), {}, {}, "", 1, rounding::nearest_even, 0};
}

// Codes of a scale for the whole tensor.
inline held coded(std::vector<double> values, dtype type, float scale, std::vector<std::int64_t> shape = {}) {
  held h = whole(std::move(values), type, std::move(shape));
  h.scale = scale;
  return h;
}

class rank_builder {
 public:
  rank_builder(model::rank_data& data, level l)
      : data_(data), level_(l), payload_(std::make_shared<memory_payload>()) {
    data_.payload = payload_;
    data_.closed = true;
  }

  // Ops and captures belong to the op begun last.
  model::op_row& op(std::int64_t step, const std::string& scope, const std::string& name,
                    const std::string& kind, phase p = phase::forward) {
    model::op_row row{};
    row.seq = ++seq_;
    row.step = step;
    row.update = update;
    row.micro_batch = -1;
    row.m = row.n = row.k = row.batch = row.reduction_length = -1;
    row.scope = text(scope);
    row.name = text(name);
    row.kind = text(kind);
    row.phase = static_cast<std::uint16_t>(p);
    row.input_dtype = row.accumulate_dtype = row.output_dtype = static_cast<std::uint16_t>(dtype::f32);
    row.output_rounding = static_cast<std::uint16_t>(rounding::nearest_even);
    data_.ops.push_back(row);
    return data_.ops.back();
  }
  void outside() { outside_ = true; }

  model::capture_row& capture(role r, const std::string& name, const held& what);

  void input(const std::string& name, const held& what) { capture(role::input, name, what); }
  void weight(const std::string& name, const held& what) { capture(role::weight, name, what); }
  void output(const std::string& name, const held& what) { capture(role::output, name, what); }
  void gradient(const std::string& name, const held& what) { capture(role::gradient, name, what); }
  void scalar(const std::string& name, double value) {
    capture(role::scalar, name, whole({value}, dtype::f64));
  }

  void collective(collective_operation operation, std::uint32_t size, reduction how = reduction::sum,
                  dtype wire = dtype::f32) {
    model::collective_row row{};
    row.op = data_.ops.back().seq;
    row.sequence = ++sequence_;
    row.size = size;
    row.communicator = text("tp");
    row.operation = static_cast<std::uint16_t>(operation);
    row.reduction = static_cast<std::uint16_t>(how);
    row.wire_dtype = static_cast<std::uint16_t>(wire);
    row.peer = -1;
    data_.collectives.push_back(row);
  }

  model::collective_row& last_collective() { return data_.collectives.back(); }

  void skip(std::int64_t step) {
    model::event_row row{};
    row.seq = ++seq_;
    row.step = step;
    row.kind = static_cast<std::uint16_t>(event_kind::skipped_step);
    data_.events.push_back(row);
  }

  std::uint32_t text(const std::string& t) {
    if (t.empty()) return 0;
    const auto known = texts_.find(t);
    if (known != texts_.end()) return known->second;
    return texts_[t] = data_.strings.add(t);
  }

  [[nodiscard]] int reads() const { return payload_->reads; }
  [[nodiscard]] std::int64_t numbers_read() const { return payload_->numbers; }
  [[nodiscard]] std::int64_t longest_read() const { return payload_->longest; }

  std::int64_t update = -1;

 private:
  model::rank_data& data_;
  level level_;
  std::shared_ptr<memory_payload> payload_;
  std::map<std::string, std::uint32_t> texts_;
  std::uint64_t seq_ = 0, sequence_ = 0;
  bool outside_ = false;
};

class run_builder {
 public:
  explicit run_builder(std::int32_t ranks = 1, level l = level::tensors) {
    run_.run_id = "run";
    run_.world_size = ranks;
    run_.ranks.resize(static_cast<std::size_t>(ranks));
    for (std::int32_t r = 0; r < ranks; ++r) {
      run_.ranks[static_cast<std::size_t>(r)].rank = r;
      builders_.push_back(std::make_unique<rank_builder>(run_.ranks[static_cast<std::size_t>(r)], l));
    }
  }
  rank_builder& operator[](std::size_t rank) { return *builders_[rank]; }
  rank_builder* operator->() { return builders_.front().get(); }
  [[nodiscard]] model::run& run() { return run_; }

 private:
  model::run run_;
  std::vector<std::unique_ptr<rank_builder>> builders_;
};

// Mesh axes for `held::mesh`.
inline std::string axis(const std::string& name, int size, int at, const std::string& how, int dim = -1) {
  return "{\"axis\":\"" + name + "\",\"size\":" + std::to_string(size) + ",\"at\":" + std::to_string(at) +
         ",\"spread\":\"" + how + "\",\"dim\":" + std::to_string(dim) + "}";
}

// Reproducible numbers in (-1, 1), with 24-bit significands.
inline std::vector<double> numbers(std::size_t n, std::uint64_t seed) {
  std::vector<double> v(n);
  std::uint64_t s = seed * 0x9e3779b97f4a7c15U + 1;
  for (double& x : v) {
    s ^= s >> 12;
    s ^= s << 25;
    s ^= s >> 27;
    x = static_cast<double>(static_cast<std::int64_t>((s * 0x2545f4914f6cdd1dU) >> 40)) / (1 << 23) - 1;
  }
  return v;
}

}  // namespace numdiff::testing

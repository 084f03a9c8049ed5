#pragma once
// Arrays in memory as a file of arrays, with the layouts that files have.
#include <cstring>
#include <map>

#include "model/arrays.hpp"

namespace numdiff::testing {

struct memory_array {
  model::array_info info;
  std::vector<std::byte> bytes;  // row-major
  model::array_layout layout;
};

template <class T>
model::element_part part_of(model::part_kind kind, const char* type, dtype format = dtype::unknown) {
  model::element_part part;
  part.kind = kind;
  part.type = type;
  part.format = format;
  part.bytes = sizeof(T);
  part.is_signed = std::is_signed_v<T>;
  part.precision = sizeof(T) * 8;
  return part;
}

template <class T>
memory_array array_of(const model::element_part& part, const std::vector<T>& values, model::extents shape) {
  memory_array a;
  a.info.type = part.type;
  a.info.shape = std::move(shape);
  a.info.element_bytes = sizeof(T);
  a.info.parts = {part};
  a.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}

class memory_stream final : public model::array_stream {
 public:
  explicit memory_stream(const memory_array& a) : a_(a) {}
  [[nodiscard]] model::array_layout layout() const override { return a_.layout; }
  [[nodiscard]] bool read(const model::box& where, std::span<std::byte> out) override {
    const std::uint64_t width = a_.info.element_bytes, count = where.size();
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t rest = i, flat = 0, weight = 1;
      for (std::size_t d = where.count.size(); d-- > 0;) {
        flat += (where.first[d] + rest % where.count[d]) * weight;
        rest /= where.count[d];
        weight *= a_.info.shape[d];
      }
      std::memcpy(out.data() + i * width, a_.bytes.data() + flat * width, width);
    }
    return true;
  }

 private:
  const memory_array& a_;
};

class memory_file final : public model::array_file {
 public:
  explicit memory_file(std::map<std::string, memory_array> content) : content_(std::move(content)) {
    path = "memory";
    format = "memory";
    for (const auto& [name, a] : content_) objects.push_back({name, model::object_kind::array, ""});
  }
  model::array_info describe(const std::string& name) override { return content_.at(name).info; }
  std::unique_ptr<model::array_stream> open(const std::string& name) override {
    return std::make_unique<memory_stream>(content_.at(name));
  }
  std::vector<std::string> attributes(const std::string&) override { return {}; }
  model::array_info describe_attribute(const std::string&, const std::string&) override { return {}; }
  std::unique_ptr<model::array_stream> open_attribute(const std::string&, const std::string&) override {
    return nullptr;
  }

 private:
  std::map<std::string, memory_array> content_;
};

}  // namespace numdiff::testing

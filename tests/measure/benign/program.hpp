#pragma once
// One run of a pair: where its tensors come from, in which formats it computes, and the ops it records.
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "measure/benign/arithmetic.hpp"
#include "measure/benign/setting.hpp"
#include "measure/benign/tensor.hpp"

namespace benign {

// An op that records what it reads and writes, in order.
class recorded {
 public:
  // Numbers that the op computes with are told in its inner format.
  recorded(const std::string& name, const char* kind, const numdiff::dtypes& formats)
      : op_(name.c_str(), kind, formats),
        wide_(static_cast<dtype>(formats.raw().accumulate_dtype) == dtype::f64) {}
  recorded& in(const char* name, const tensor& t) { return capture(numdiff::role::input, name, t); }
  recorded& weight(const char* name, const tensor& t) { return capture(numdiff::role::weight, name, t); }
  recorded& state(const char* name, const tensor& t) { return capture(numdiff::role::state, name, t); }
  recorded& out(const char* name, const tensor& t) { return capture(numdiff::role::output, name, t); }
  recorded& gradient(const char* name, const tensor& t) { return capture(numdiff::role::gradient, name, t); }
  recorded& scalar(const char* name, double value) {
    if (op_.recording() && wide_) op_.scalar(name, value);
    if (op_.recording() && !wide_) op_.scalar(name, static_cast<float>(value));
    return *this;
  }
  recorded& view(numdiff::role r, const char* name, const numdiff::view& v) {
    if (op_.recording()) op_.capture(r, name, v);
    return *this;
  }
  recorded& cast(const char* name, const numdiff::view& source, const tensor& destination) {
    if (op_.recording()) op_.cast(name, source, destination.view());
    return *this;
  }
  recorded& collective(const numdiff::collective& c) {
    if (op_.recording()) op_.collective(c);
    return *this;
  }

 private:
  recorded& capture(numdiff::role r, const char* name, const tensor& t) { return view(r, name, t.view()); }
  numdiff::op op_;
  bool wide_;
};

class program {
 public:
  program(const setting& s, bool reference);

  const setting& how;
  const bool reference;
  const dtype real;   // of plain tensors
  const dtype inner;  // f64 or f32: of arithmetic inside an op
  const adding adds;  // of sums

  [[nodiscard]] numdiff::dtypes formats() const { return formats(real); }
  [[nodiscard]] numdiff::dtypes formats(dtype out) const;
  // Numbers that both runs draw alike; kept in the run's own format.
  [[nodiscard]] tensor source(const shape& s, double scale = 1);
  [[nodiscard]] tensor source(const shape& s, const values& x) const { return stored(real, s, x); }
  [[nodiscard]] tensor positive(const shape& s);
  // Normal numbers, whatever the data.
  [[nodiscard]] tensor weights(const shape& s, double deviation) { return weights(s, deviation, real); }
  [[nodiscard]] tensor weights(const shape& s, double deviation, dtype type);
  [[nodiscard]] tensor ids(std::int64_t count, std::int64_t limit);
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high);
  // What an op stores: rounded to the run's format, at random where the setting says so.
  [[nodiscard]] tensor result(const shape& s, const values& x) { return result(s, x, real); }
  [[nodiscard]] tensor result(const shape& s, const values& x, dtype type);
  // The matrix as a product reads it: cast to the setting's scaled format in the test run, recorded as an op
  // of its own; `columns`: elements that are added up stand in columns.
  [[nodiscard]] tensor operand(const std::string& name, const tensor& x, bool columns = false) {
    return operand(name, x, x.view(), columns);
  }
  // The same for a matrix that is seen in another way than it lies in memory.
  [[nodiscard]] tensor operand(const std::string& name, const tensor& x, const numdiff::view& seen,
                               bool columns);

  // f in the run's inner arithmetic over the elements of tensors of one size.
  template <class F, class... Tensors>
  [[nodiscard]] values mapped(const F& f, const tensor& first, const Tensors&... rest) const {
    values y(first.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (inner == dtype::f64)
        y[i] = f(first[i], rest[i]...);
      else
        y[i] = static_cast<double>(f(static_cast<float>(first[i]), static_cast<float>(rest[i])...));
    }
    return y;
  }

 private:
  [[nodiscard]] values draw(const shape& s, data_of data);
  std::mt19937_64 random_;
  std::uint64_t noise_;
  std::int32_t delayed_ = 0;
};

// Calls f.operator()<A>() with the run's inner arithmetic.
template <class F>
auto in_inner(const program& p, const F& f) {
  return p.inner == dtype::f64 ? f.template operator()<double>() : f.template operator()<float>();
}

// The parts of a run, in order.
void elementwise(program& p);
void reductions(program& p);
void rows(program& p);
void products(program& p);
void attention(program& p);
void training(program& p);
void choices(program& p);
void fused(program& p);
void collectives(program& p, std::int32_t rank);

}  // namespace benign

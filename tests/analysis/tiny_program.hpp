#pragma once
// A small program, run in memory: per layer a product, a residual sum and an activation, each rounded
// once to the run's format.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "analysis/build_run.hpp"

namespace numdiff::testing {

inline std::vector<double> rounded(std::vector<double> v, dtype type) {
  std::vector<std::byte> codes(v.size() * bytes_of(type));
  encode(type, v.data(), codes.data(), v.size());
  decode(type, codes.data(), v.data(), v.size());
  return v;
}

// Called with (step, layer, op) and the exact result before rounding; plants faults.
using spoiler = std::function<void(std::int64_t, int, const std::string&, std::vector<double>&)>;

struct tiny {
  dtype type = dtype::f32;
  int steps = 2, layers = 3;
  level keep = level::tensors;
  spoiler spoil = {};
  spoiler weights = {};
  spoiler inputs = {};
  std::function<bool(std::int64_t, int, const std::string&)> omit = {};
  static constexpr std::size_t rows = 16, width = 32;

  [[nodiscard]] run_builder run() const {
    run_builder built(1, keep);
    rank_builder& r = built[0];
    const auto there = [&](std::int64_t step, int layer, const std::string& op) {
      return !omit || !omit(step, layer, op);
    };
    const std::vector<std::int64_t> activation = {rows, width};
    for (std::int64_t step = 0; step < steps; ++step) {
      std::vector<double> x = numbers(rows * width, static_cast<std::uint64_t>(100 + step));
      if (inputs) inputs(step, 0, "x", x);
      x = rounded(x, type);
      for (int layer = 0; layer < layers; ++layer) {
        const std::string scope = "decoder.layer." + std::to_string(layer);
        std::vector<double> w = numbers(width * width, static_cast<std::uint64_t>(layer + 1));
        for (double& v : w) v *= 0.2;
        if (weights) weights(step, layer, "w", w);
        w = rounded(w, type);
        std::vector<double> y(rows * width);
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < width; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < width; ++k) sum += x[i * width + k] * w[k * width + j];
            y[i * width + j] = sum;
          }
        }
        const auto finish = [&](const std::string& op, std::vector<double>& v) {
          if (spoil) spoil(step, layer, op, v);
          v = rounded(v, type);
        };
        finish("fc", y);
        if (there(step, layer, "fc")) {
          model::op_row& row = r.op(step, scope, "fc", "matmul");
          row.m = rows;
          row.n = row.k = width;
          settle(row);
          r.input("x", whole(x, type, activation));
          r.weight("w", whole(w, type, {width, width}));
          r.output("y", whole(y, type, activation));
        }
        std::vector<double> z(x.size());
        for (std::size_t i = 0; i < z.size(); ++i) z[i] = x[i] + y[i];
        finish("residual", z);
        if (there(step, layer, "residual")) {
          settle(r.op(step, scope, "residual", "add"));
          r.input("x", whole(x, type, activation));
          r.input("y", whole(y, type, activation));
          r.output("z", whole(z, type, activation));
        }
        std::vector<double> a(z.size());
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = z[i] / (1 + std::exp(-z[i]));
        finish("act", a);
        if (there(step, layer, "act")) {
          settle(r.op(step, scope, "act", "silu"));
          r.input("x", whole(z, type, activation));
          r.output("y", whole(a, type, activation));
        }
        x = a;
      }
    }
    return built;
  }

 private:
  void settle(model::op_row& row) const {
    row.input_dtype = row.input2_dtype = row.output_dtype = static_cast<std::uint16_t>(type);
    row.accumulate_dtype = static_cast<std::uint16_t>(type == dtype::f64 ? dtype::f64 : dtype::f32);
  }
};

}  // namespace numdiff::testing

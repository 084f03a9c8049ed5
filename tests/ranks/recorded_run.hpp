#pragma once
// A run recorded by a program through the public interface, and read back.
#include <cstdint>
#include <filesystem>
#include <string>

#include "analysis/comparison.hpp"
#include "model/run.hpp"
#include "record.hpp"

namespace numdiff::testing {

class recorded_run {
 public:
  // `shards`: NUMDIFF_SHARDS while it records. Throws std::runtime_error when a rank fails.
  recorded_run(const reproduce::program& what, std::int32_t ranks, level l, const std::string& shards = "");
  recorded_run(const recorded_run&) = delete;
  recorded_run& operator=(const recorded_run&) = delete;
  ~recorded_run();

  [[nodiscard]] const model::run& run() const { return run_; }

 private:
  std::filesystem::path folder_;
  model::run run_;
};

// Everything that was found, for messages of failed tests.
std::string told(const analysis::comparison& c);

// A number behind the first divergence; NaN when it is not told.
double number(const analysis::comparison& c, const std::string& name);

}  // namespace numdiff::testing

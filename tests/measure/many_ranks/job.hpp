#pragma once
// The shape of a job: how many ranks along each axis, and what they compute.
#include <cstdint>

namespace many_ranks {

inline constexpr std::int64_t tokens = 16;  // of one data-parallel replica
inline constexpr std::int64_t width = 64;   // of the residual stream
inline constexpr std::int64_t inner = 256;  // of the feed-forward part, divided by tensor parallelism

struct job {
  std::int32_t tp = 1, dp = 1, pp = 1;
  std::int64_t layers = 1, steps = 1;
  std::int64_t batch = 1;   // replicas' worth of tokens in all; dp divides it
  std::int64_t twice = -1;  // from this step on the optimizer applies the gradient of the middle layer twice

  [[nodiscard]] std::int32_t world() const { return tp * dp * pp; }
  // Tensor parallelism runs fastest, pipeline stages slowest.
  [[nodiscard]] std::int32_t rank(std::int32_t stage, std::int32_t replica, std::int32_t part) const {
    return (stage * dp + replica) * tp + part;
  }
  [[nodiscard]] std::int64_t rows() const { return tokens * batch / dp; }  // of one replica
  [[nodiscard]] std::int64_t columns() const { return inner / tp; }        // of one tensor-parallel part
  [[nodiscard]] std::int64_t stage_layers() const { return layers / pp; }
};

// "tp=8", "dp=128" and so on; throws std::invalid_argument for what no job can have.
job parse_job(int argc, char** argv);

}  // namespace many_ranks

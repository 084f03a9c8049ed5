#pragma once
// What every op needs to know: the formats of the run, the ranks, and where in the run it is.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "faults.hpp"
#include "options.hpp"
#include "ranks.hpp"
#include "tensor.hpp"

namespace minigpt {

// Of one tensor with delayed scaling.
struct delayed_state {
  static constexpr std::size_t length = 4;
  float amax[length] = {};
  float encode_scale = 0;  // 0: none yet
};

struct engine {
  const options& config;
  const ranks& world;
  planted fault;

  dtype storage;  // of activations and their gradients
  dtype master;   // of weights and optimizer states
  dtype real;     // of arithmetic outside products
  dtype wire;     // of collectives

  std::int64_t step = 0, update = 0, layer = 0;
  double loss_scale = 1;
  std::int64_t good_steps = 0;                           // applied since the loss scale changed
  mutable std::map<std::string, delayed_state> delayed;  // by tensor

  engine(const options& o, const ranks& w);

  [[nodiscard]] bool faulty(const char* name) const { return fault.here(name, step, layer); }
  [[nodiscard]] std::int64_t local_heads() const { return config.heads / world.tp().size(); }
  [[nodiscard]] std::int64_t local_batch() const { return config.batch / world.dp().size(); }
  [[nodiscard]] std::int64_t local_tokens() const { return local_batch() * config.sequence; }

  // Where tensors lie. Activations are sharded over dp by sequences; over tp they are whole or sharded.
  [[nodiscard]] placement everywhere() const;               // replicated on all ranks
  [[nodiscard]] placement tokens() const;                   // rows over dp
  [[nodiscard]] placement tokens_and(int dimension) const;  // and `dimension` over tp
  [[nodiscard]] placement tokens_partial() const;           // and a partial sum over tp
  [[nodiscard]] placement weight(int tp_dimension) const;   // -1: replicated over tp
};

// Calls f.operator()<T>() with the type of the run's arithmetic, float or double.
template <class F>
void with_real(const engine& e, F f) {
  if (e.real == dtype::f64)
    f.template operator()<double>();
  else
    f.template operator()<float>();
}

}  // namespace minigpt

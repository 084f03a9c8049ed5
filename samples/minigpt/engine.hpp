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
  std::int64_t micro_batch = 0;
  bool recomputing = false;
  double loss_scale = 1;
  std::int64_t good_steps = 0;                           // applied since the loss scale changed
  mutable std::map<std::string, delayed_state> delayed;  // by tensor

  engine(const options& o, const ranks& w);

  [[nodiscard]] bool faulty(const char* name) const { return fault.here(name, step, layer); }
  [[nodiscard]] std::int64_t local_heads() const { return config.heads / world.tp().size(); }

  // Sequences of a micro-batch on all ranks; of these the ones of this rank, and which is its first.
  [[nodiscard]] std::int64_t sequences() const { return config.batch / config.micro_batches; }
  [[nodiscard]] std::int64_t local_batch() const;
  [[nodiscard]] std::int64_t first_sequence() const { return first_sequence(world.at(axis::dp)); }
  [[nodiscard]] std::int64_t first_sequence(std::int32_t dp_at) const;
  // Which tokens the rows of activations are: those that products read, and with sequence parallelism the
  // shards that norms, dropout and residuals work on.
  [[nodiscard]] rows_ptr product_rows() const { return context_rows(world.at(axis::cp)); }
  [[nodiscard]] rows_ptr residual_rows(std::int32_t tp_at) const;
  [[nodiscard]] rows_ptr residual_rows() const { return residual_rows(world.at(axis::tp)); }

  // Keys and values are read at all positions; of these every context-parallel rank makes its own.
  [[nodiscard]] rows_ptr context_rows(std::int32_t cp_at) const;
  [[nodiscard]] rows_ptr all_positions() const;

  // Where tensors lie. Rows of activations are spread over dp; over tp they are whole, or
  // sharded along another dimension, or a partial sum.
  [[nodiscard]] placement everywhere() const;                     // replicated on all ranks that have it
  [[nodiscard]] placement tokens() const;                         // rows that products read
  [[nodiscard]] placement tokens_and(int dimension) const;        // and `dimension` over tp
  [[nodiscard]] placement tokens_partial() const;                 // and a partial sum over tp
  [[nodiscard]] placement keys(spread::kind over_context) const;  // all positions, columns over tp
  [[nodiscard]] placement residual() const;                       // rows of the residual stream
  [[nodiscard]] placement weight(int tp_dimension) const;         // -1: replicated over tp
  // Of a gradient before it is summed over the ranks that saw other tokens.
  [[nodiscard]] placement gradient(int tp_dimension) const;
  // Of a sum of squares of gradients, of weights that tp shards or not.
  [[nodiscard]] placement squares(bool tp_sharded) const;
  // Of the mean of a rank's tokens; told only where all ranks have as many, and weigh alike.
  [[nodiscard]] placement mean() const;
  // The ranks that have rows of the residual stream that others have not.
  [[nodiscard]] const group& residual_ranks() const;

 private:
  // Does nothing where the axis has one rank.
  void put(placement& p, axis a, spread::kind how, int dimension = 0) const;
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

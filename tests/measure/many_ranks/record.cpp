#include "measure/many_ranks/record.hpp"

#include <cstdio>
#include <stdexcept>

#include "numdiff/numdiff.hpp"
#include "numdiff/session.hpp"

namespace many_ranks {

namespace {

using numdiff::dtype;

class rank_recorder {
 public:
  rank_recorder(const stack& of, std::int32_t stage, std::int32_t replica, std::int32_t part)
      : stack_(of), job_(of.shape()), stage_(stage), part_(part), replica_(replica) {
    for (std::int32_t t = 0; t < job_.tp; ++t) tp_ranks_.push_back(job_.rank(stage, replica, t));
    for (std::int32_t d = 0; d < job_.dp; ++d) dp_ranks_.push_back(job_.rank(stage, d, part));
  }

  void step(std::int64_t number, const std::vector<layer_values>& layers) {
    NUMDIFF_STEP(number);
    const std::int64_t first = stage_ * job_.stage_layers(), last = first + job_.stage_layers();
    {
      NUMDIFF_PHASE(forward);
      if (stage_ > 0) receive(layers, first);
      for (std::int64_t l = first; l < last; ++l) forward(number, l, layers[static_cast<std::size_t>(l)]);
      if (stage_ + 1 < job_.pp) send(layers, last);
    }
    NUMDIFF_PHASE(backward);
    for (std::int64_t l = last; l-- > first;) backward(number, l, layers[static_cast<std::size_t>(l)]);
  }

 private:
  static std::string scope(std::int64_t layer) { return "decoder.layer." + std::to_string(layer); }

  // The residual stream: rows are sharded over replicas, every part holds all of it.
  [[nodiscard]] numdiff::view stream(const matrix& m) const {
    return numdiff::view(m.data(), dtype::f32, {job_.rows(), width}).shard("dp", 0).replicated("tp");
  }
  [[nodiscard]] numdiff::view columns_of(const matrix& m, std::int64_t rows) const {
    return numdiff::view(m.data() + part_ * job_.columns(), dtype::f32, {rows, job_.columns()})
        .strides({inner, 1})
        .shard("tp", 1);
  }

  void forward(std::int64_t step, std::int64_t layer, const layer_values& v) {
    NUMDIFF_SCOPE(scope(layer).c_str());
    const std::int64_t rows = job_.rows(), columns = job_.columns();
    {
      NUMDIFF_OP(op, "norm", rms_norm, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).reduction(width));
      NUMDIFF_INPUT(op, "x", stream(v.x));
      NUMDIFF_OUTPUT(op, "y", stream(v.y));
    }
    {
      NUMDIFF_OP(op, "up", matmul,
                 numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).mnk(rows, columns, width));
      NUMDIFF_WEIGHT(op, "w", columns_of(stack_.up(step, layer), width).replicated("dp"));
      NUMDIFF_OUTPUT(op, "u", columns_of(v.u, rows).shard("dp", 0));
    }
    const matrix& z = v.z[static_cast<std::size_t>(part_)];
    const numdiff::view whole(z.data(), dtype::f32, {rows, width});
    const numdiff::view term = whole.shard("dp", 0).partial("tp", numdiff::reduction::sum);
    {
      NUMDIFF_OP(op, "down", matmul,
                 numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).mnk(rows, width, columns));
      NUMDIFF_INPUT(op, "u", columns_of(v.u, rows).shard("dp", 0));
      NUMDIFF_OUTPUT(op, "z", term);
    }
    if (job_.tp > 1) {
      NUMDIFF_OP(op, "reduce", all_reduce, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
      NUMDIFF_COLLECTIVE(op, sum_over("tp", tp_ranks_, tp_sequence_++, rows * width));
      NUMDIFF_INPUT(op, "z", term);
      NUMDIFF_OUTPUT(op, "r", stream(v.r));
    }
    NUMDIFF_OP(op, "residual", add, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
    NUMDIFF_OUTPUT(op, "x", stream(v.out));
  }

  void backward(std::int64_t step, std::int64_t layer, const layer_values& v) {
    NUMDIFF_SCOPE(scope(layer).c_str());
    const numdiff::view term = columns_of(v.gradient, width).partial("dp", numdiff::reduction::sum);
    {
      NUMDIFF_OP(op, "up.weight_gradient", matmul,
                 numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).mnk(width, job_.columns(), job_.rows()));
      NUMDIFF_GRADIENT(op, "dw", term);
    }
    if (job_.dp == 1) return;
    NUMDIFF_OP(op, "reduce.gradient", all_reduce, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
    NUMDIFF_COLLECTIVE(op, sum_over("dp", dp_ranks_, dp_sequence_++, width * job_.columns()));
    NUMDIFF_INPUT(op, "dw", term);
    NUMDIFF_GRADIENT(op, "g", columns_of(stack_.gradient(step, layer), width).replicated("dp"));
  }

  // The residual stream on its way from one pipeline stage to the next: what `layer` reads.
  void send(const std::vector<layer_values>& layers, std::int64_t layer) {
    NUMDIFF_OP(op, "send", send, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
    NUMDIFF_COLLECTIVE(op, pass(numdiff::collective_operation::send, stage_ + 1));
    NUMDIFF_INPUT(op, "x", stream(layers[static_cast<std::size_t>(layer)].x));
  }
  void receive(const std::vector<layer_values>& layers, std::int64_t layer) {
    NUMDIFF_OP(op, "receive", receive, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
    NUMDIFF_COLLECTIVE(op, pass(numdiff::collective_operation::receive, stage_ - 1));
    NUMDIFF_OUTPUT(op, "x", stream(layers[static_cast<std::size_t>(layer)].x));
  }

  [[nodiscard]] numdiff::collective pass(numdiff::collective_operation what, std::int32_t other) {
    return numdiff::collective(what)
        .communicator("pp")
        .sequence(pp_sequence_++)
        .size(2)
        .count(job_.rows() * width)
        .wire(dtype::f32)
        .peer(job_.rank(other, replica_, part_));
  }
  [[nodiscard]] static numdiff::collective sum_over(const char* axis, const std::vector<std::int32_t>& ranks,
                                                    std::int64_t sequence, std::int64_t count) {
    const auto size = static_cast<std::uint32_t>(ranks.size());
    return numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::sum)
        .communicator(axis)
        .sequence(sequence)
        .size(size)
        .ranks(ranks.data(), size)
        .count(count)
        .wire(dtype::f32)
        .algorithm("ring");
  }

  const stack& stack_;
  const job& job_;
  std::int32_t stage_, part_, replica_;
  std::vector<std::int32_t> tp_ranks_, dp_ranks_;
  std::int64_t tp_sequence_ = 0, dp_sequence_ = 0, pp_sequence_ = 0;
};

}  // namespace

void record_rank(const std::string& file, const std::string& run_id, const stack& of, std::int32_t stage,
                 std::int32_t replica, std::int32_t part, const replica_steps& values) {
  const job& shape = of.shape();
  numdiff::session_options options;
  options.file = file.c_str();
  options.level = numdiff::level::sketch;
  options.run_id = run_id.c_str();
  options.world_size = shape.world();
  options.rank = shape.rank(stage, replica, part);
  options.wait_ms = 60000;
  numdiff::session session(options);
  if (!session.active()) throw std::runtime_error(numdiff::session::last_error());
  session.mesh("tp", shape.tp, part);
  session.mesh("dp", shape.dp, replica);
  session.mesh("pp", shape.pp, stage);
  rank_recorder recorder(of, stage, replica, part);
  for (std::size_t step = 0; step < values.size(); ++step)
    recorder.step(static_cast<std::int64_t>(step), values[step]);
  const numdiff::statistics seen = numdiff::session::statistics();
  session.close();
  if (numdiff::session::last_error()[0] != '\0') throw std::runtime_error(numdiff::session::last_error());
  if (seen.dropped_captures + seen.dropped_sketches > 0) throw std::runtime_error("captures were dropped");
}

}  // namespace many_ranks

#include "linear.hpp"

#include "quantize.hpp"

namespace minigpt {
namespace {

bool fp8(const engine& e) {
  return e.config.numbers == precision::fp8;
}

// This rank's weight, or with the fault wrong-shard-order that of the next rank.
tensor weight_shard(const engine& e, parameter& p) {
  tensor w = fp8(e) ? p.value : cast_weight(e, p);
  const group& tp = e.world.tp();
  if (tp.size() > 1 && p.name == "attn.proj" && e.faulty("wrong-shard-order")) {
    const std::vector<std::byte> mine = w.codes;
    e.world.exchange(tp, (tp.at + 1) % tp.size(), mine.data(), mine.size(),
                     (tp.at + tp.size() - 1) % tp.size(), w.codes.data(), w.codes.size());
  }
  return w;
}

}  // namespace

tensor quantised_rows(const engine& e, const std::string& name, const tensor& x, carries factors) {
  if (!fp8(e)) return {};
  const bool backward = factors == carries::loss_scale;
  return quantize(e, x, {.name = name, .contraction = 1, .backward = backward, .factors = factors});
}

tensor quantised_columns(const engine& e, const std::string& name, const tensor& x, carries factors) {
  if (!fp8(e)) return {};
  // The left operand of a weight gradient is x transposed; the right one is dy, summed over its rows.
  const bool backward = factors == carries::loss_scale;
  return quantize(e, x,
                  {.name = name,
                   .transposed = !backward,
                   .contraction = backward ? 0 : 1,
                   .backward = backward,
                   .factors = factors});
}

tensor linear_forward(const engine& e, parameter& p, const tensor& x, const placement& place) {
  tensor w = weight_shard(e, p);
  if (fp8(e)) w = quantize(e, w, {.name = p.name + ".w", .weight = true, .contraction = 0});
  const std::int64_t tokens = x.rows(), out = w.columns();
  return product(e, p.name, {x, matrix(tokens, x.columns()), "x"},
                 {w, matrix(w.rows(), out), "w", operand::weight},
                 {e.storage, {tokens, out}, matrix(tokens, out), place});
}

tensor linear_backward(const engine& e, parameter& p, const tensor& dy, const tensor& x,
                       const tensor& x_columns, const placement& place) {
  const std::int64_t tokens = x.rows(), in = x.columns(), out = dy.columns();
  const tensor dy_rows = quantised_rows(e, p.name + ".dy", dy, carries::loss_scale);
  const tensor dy_columns = quantised_columns(e, p.name + ".dy_columns", dy, carries::loss_scale);
  tensor w;
  matrices w_shape = matrix(out, in);
  if (fp8(e)) {
    w = quantize(e, p.value,
                 {.name = p.name + ".w_transposed", .weight = true, .transposed = true, .contraction = 0});
  } else {
    w = compute_weight(p);
    w_shape = matrix(in, out).transposed();
  }
  const matrices x_shape = x_columns.codes.empty() ? matrix(tokens, in).transposed() : matrix(in, tokens);
  p.gradient = product(e, p.name + ".dw", {either(x_columns, x), x_shape, "x"},
                       {either(dy_columns, dy), matrix(tokens, out), "dy", operand::gradient},
                       {e.storage,
                        {in, out},
                        matrix(in, out),
                        p.of_expert ? placement{} : e.gradient(p.tp_dimension),
                        carries::loss_scale});
  return product(e, p.name + ".dx", {either(dy_rows, dy), matrix(tokens, out), "dy", operand::gradient},
                 {w, w_shape, "w", operand::weight},
                 {e.storage, {tokens, in}, matrix(tokens, in), place, carries::loss_scale});
}

}  // namespace minigpt

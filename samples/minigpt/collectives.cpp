#include "collectives.hpp"

#include "move_rows.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

// A stretch of values in the wire format, on its way.
template <class T>
class wire_buffer {
 public:
  wire_buffer(dtype wire, const T* values, std::int64_t n) : codes_(wire, {n}) {
    encode(std::vector<T>(values, values + n), codes_);
  }
  [[nodiscard]] std::vector<std::byte>& bytes() { return codes_.codes; }
  void write(T* values) const {
    const std::vector<T> all = decode<T>(codes_);
    for (std::size_t i = 0; i < all.size(); ++i) values[i] = all[i];
  }
  void add_to(T* values) const {
    const std::vector<T> all = decode<T>(codes_);
    for (std::size_t i = 0; i < all.size(); ++i) values[i] += all[i];
  }

 private:
  tensor codes_;
};

template <class T>
struct stretch {
  T* values;
  std::int64_t n;
};

template <class T>
stretch<T> part(std::vector<T>& values, std::int64_t parts, std::int64_t which) {
  const auto n = static_cast<std::int64_t>(values.size());
  const std::int64_t begin = n * which / parts, end = n * (which + 1) / parts;
  return {values.data() + begin, end - begin};
}

// Reduce-scatter and all-gather around the ring: chunk c is summed in an order that begins at rank c + 1.
template <class T>
void ring(const engine& e, const group& g, dtype wire, std::vector<T>& values) {
  const std::int32_t n = g.size(), next = (g.at + 1) % n, before = (g.at + n - 1) % n;
  for (std::int32_t hop = 0; hop < 2 * (n - 1); ++hop) {
    const bool summing = hop < n - 1;
    const std::int32_t first = g.at + (summing ? 0 : 1) + 2 * n - hop % (n - 1);
    const stretch<T> out = part(values, n, first % n), in = part(values, n, (first - 1) % n);
    wire_buffer<T> sent(wire, out.values, out.n), got(wire, in.values, in.n);
    if (!summing || hop == 0) sent.write(out.values);  // what others get is what this rank keeps
    e.world.exchange(g, next, sent.bytes().data(), sent.bytes().size(), before, got.bytes().data(),
                     got.bytes().size());
    if (summing) {
      const wire_buffer<T> own(wire, in.values, in.n);
      own.write(in.values);
      got.add_to(in.values);
      const wire_buffer<T> sum(wire, in.values, in.n);
      sum.write(in.values);
    } else {
      got.write(in.values);
    }
  }
}

// A binary tree to rank 0 of the group and back.
template <class T>
void tree(const engine& e, const group& g, dtype wire, std::vector<T>& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  const auto round = [&] {
    const wire_buffer<T> own(wire, values.data(), n);
    own.write(values.data());
  };
  round();
  std::int32_t span = 1;
  for (; span < g.size(); span *= 2) {
    wire_buffer<T> buffer(wire, values.data(), n);
    if (g.at % (2 * span) != 0) {
      e.world.send(g, g.at - span, buffer.bytes().data(), buffer.bytes().size());
      break;
    }
    if (g.at + span < g.size()) {
      e.world.receive(g, g.at + span, buffer.bytes().data(), buffer.bytes().size());
      buffer.add_to(values.data());
      round();
    }
  }
  if (g.at != 0) {
    wire_buffer<T> buffer(wire, values.data(), n);
    e.world.receive(g, g.at - span, buffer.bytes().data(), buffer.bytes().size());
    buffer.write(values.data());
  }
  for (span /= 2; span >= 1; span /= 2)
    if (g.at + span < g.size()) {
      wire_buffer<T> buffer(wire, values.data(), n);
      e.world.send(g, g.at + span, buffer.bytes().data(), buffer.bytes().size());
    }
}

template <class T>
void sum_over(const engine& e, const group& g, dtype wire, std::vector<T>& values) {
  if (e.config.order == hop_order::ring)
    ring(e, g, wire, values);
  else
    tree(e, g, wire, values);
}

}  // namespace

reduce_fault reduce_fault_here(const engine& e) {
  if (e.faulty("bf16-wire")) return reduce_fault::bf16_wire;
  if (e.faulty("missing-all-reduce")) return reduce_fault::missing;
  if (e.faulty("duplicate-reduction")) return reduce_fault::duplicate;
  return reduce_fault::none;
}

tensor all_reduce(const engine& e, const group& g, const std::string& name, tensor x, carries factors,
                  reduce_fault fault) {
  if (g.size() == 1) return x;
  const bool gradient = factors == carries::loss_scale, ring_order = e.config.order == hop_order::ring;
  const dtype wire = x.extents.empty() ? x.type : e.wire;  // loss and norm travel as they are
  NUMDIFF_OP(op, name.c_str(), all_reduce,
             numdiff::dtypes(x.type, wire, x.type)
                 .order(ring_order ? numdiff::reduction_order::ring : numdiff::reduction_order::tree));
  NUMDIFF_COLLECTIVE(op,
                     numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::sum)
                         .communicator(g.name.c_str())
                         .sequence(g.sequence)
                         .size(g.size())
                         .ranks(g.members.data(), static_cast<std::uint32_t>(g.size()))
                         .count(x.count())
                         .wire(wire)
                         .algorithm(name_of(e.config.order)));
  NUMDIFF_INPUT(op, "x", gradient ? view_of(x).carries_factors() : view_of(x));
  ++g.sequence;

  tensor y = x;
  for (const axis a : g.over)
    if (e.world.size(a) > 1) y.place[a] = {spread::replicated, 0};
  if (fault != reduce_fault::missing)
    with_real(e, [&]<class T>() {
      std::vector<T> values = decode<T>(x);
      sum_over(e, g, fault == reduce_fault::bf16_wire ? dtype::bf16 : wire, values);
      if (fault == reduce_fault::duplicate) sum_over(e, g, wire, values);
      if (fault == reduce_fault::average)
        for (T& v : values) v /= T(g.size());
      encode(values, y);
    });
  if (gradient)
    NUMDIFF_GRADIENT(op, "y", view_of(y));
  else
    NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

tensor to_residual(const engine& e, const std::string& name, tensor x, carries factors, reduce_fault fault) {
  if (e.config.sequence_parallel)
    return reduce_scatter_rows(e, residual_owners(e), name, std::move(x), factors);
  return all_reduce(e, e.world.tp(), name, std::move(x), factors, fault);
}

tensor from_residual(const engine& e, const std::string& name, tensor x, carries factors) {
  return all_gather_rows(e, residual_owners(e), name, std::move(x), factors,
                         factors == carries::nothing && e.faulty("wrong-gather-order"));
}

tensor all_reduce_mean(const engine& e, const group& g, const std::string& name, tensor x,
                       std::int64_t weight) {
  if (g.size() == 1) return x;
  NUMDIFF_OP(op, name.c_str(), all_reduce, numdiff::dtypes(x.type, x.type, x.type));
  NUMDIFF_COLLECTIVE(
      op, numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::average)
              .communicator(g.name.c_str())
              .sequence(g.sequence)
              .size(g.size())
              .ranks(g.members.data(), static_cast<std::uint32_t>(g.size()))
              .count(x.count())
              .wire(x.type)
              .algorithm(name_of(e.config.order)));
  NUMDIFF_INPUT(op, "x", view_of(x));
  NUMDIFF_INPUT(op, "tokens", numdiff::view(&weight, {1}));
  ++g.sequence;
  tensor y = x;
  for (const axis a : g.over)
    if (e.world.size(a) > 1) y.place[a] = {spread::replicated, 0};
  with_real(e, [&]<class T>() {
    // The fault mean-of-means: every rank counts alike.
    const bool alike = e.fault.now("mean-of-means", e.step);
    std::vector<T> values = decode<T>(x), weights{alike ? T(1) : T(weight)};
    for (T& v : values) v *= weights[0];
    sum_over(e, g, x.type, values);
    sum_over(e, g, x.type, weights);
    for (T& v : values) v /= weights[0];
    encode(values, y);
  });
  NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

}  // namespace minigpt

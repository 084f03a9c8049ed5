// Collectives over a group: honest hops in the wire format are within, wrong reductions are named.
#include <doctest/doctest.h>

#include "analysis/expect/emulate.hpp"

using namespace numdiff;
using namespace numdiff::test;
using analysis::verdict;

namespace {

double through(dtype t, double x) {
  return decode(t, encode(t, x));
}

class group {
 public:
  group(dtype type, dtype wire, numdiff::reduction reduce, std::size_t ranks, std::int64_t count,
        unsigned seed, spread_of spread = spread_of::normal)
      : type_(type), n_(ranks), count_(static_cast<std::size_t>(count)) {
    sampler random(seed);
    row_.operation = static_cast<std::uint16_t>(collective_operation::all_reduce);
    row_.reduction = static_cast<std::uint16_t>(reduce);
    row_.wire_dtype = static_cast<std::uint16_t>(wire);
    row_.size = static_cast<std::uint32_t>(ranks);
    row_.peer = -1;
    for (std::size_t r = 0; r < ranks; ++r) {
      runs_.emplace_back("all_reduce", type, wire, type);
      runs_.back().read(stored(type, {count}, random.draw(count_, spread)));
    }
  }
  detail::collective_row& row() { return row_; }
  [[nodiscard]] const values& input(std::size_t r) { return runs_[r].input(0).values; }
  execution& run(std::size_t r) { return runs_[r]; }
  // Sequential from a rank that depends on the element, every hop in the wire format.
  values ring(dtype wire, double factor = 1) {
    values y(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t begin = i * n_ / count_;
      double s = through(wire, input(begin)[i]);
      for (std::size_t q = 1; q < n_; ++q) s = through(wire, s + through(wire, input((begin + q) % n_)[i]));
      y[i] = s * factor;
    }
    return y;
  }
  // Neighbours first, then their sums: a binary tree, or nodes of two ranks and then one of each node.
  values tree(dtype wire, double before = 1) {
    std::vector<values> sums(n_, values(count_));
    for (std::size_t r = 0; r < n_; ++r)
      for (std::size_t i = 0; i < count_; ++i)
        sums[r][i] =
            through(wire, before == 1 ? input(r)[i] : through(wire, before) * through(wire, input(r)[i]));
    for (std::size_t span = 1; span < n_; span *= 2) {
      for (std::size_t r = 0; r + span < n_; r += 2 * span)
        for (std::size_t i = 0; i < count_; ++i) sums[r][i] = through(wire, sums[r][i] + sums[r + span][i]);
    }
    return sums[0];
  }
  void write(std::size_t r, const values& y) {
    runs_[r].write(stored(type_, {static_cast<std::int64_t>(y.size())}, y));
  }
  void write_all(const values& y) {
    for (std::size_t r = 0; r < n_; ++r) write(r, y);
  }
  // Elements places[r] of a whole of `whole` elements are what rank r reads, and wrote.
  void tell_places(const std::vector<std::vector<std::int64_t>>& read,
                   const std::vector<std::vector<std::int64_t>>& written, std::int64_t whole) {
    read_places_ = read;
    written_places_ = written;
    whole_ = whole;
  }
  replayed replay() {
    std::vector<op_instance> ranks;
    for (const execution& e : runs_) ranks.push_back(e.instance());
    for (std::size_t r = 0; r < ranks.size() && whole_ > 0; ++r) {
      ranks[r].reads[0].places = read_places_[r];
      ranks[r].writes[0].places = written_places_[r];
      ranks[r].reads[0].whole = ranks[r].writes[0].whole = whole_;
    }
    replayed r = analysis::replay_collective(row_, ranks);
    REQUIRE_MESSAGE(r.done, r.why_not);
    return r;
  }
  void all_are(verdict v, const std::string& cause) {
    for (const judgement& j : replay().outputs) {
      INFO(j.ratio << " of " << j.limit << ": " << j.reason);
      CHECK(j.v == v);
      CHECK(j.cause_hint == cause);
    }
  }

 private:
  dtype type_;
  std::size_t n_, count_;
  detail::collective_row row_{};
  std::deque<execution> runs_;
  std::vector<std::vector<std::int64_t>> read_places_, written_places_;
  std::int64_t whole_ = 0;
};

}  // namespace

TEST_CASE("honest reductions in every wire format are within") {
  unsigned seed = 1;
  for (const dtype wire : {dtype::f32, dtype::bf16, dtype::f16, dtype::f8e4m3fn}) {
    for (const std::size_t ranks : {std::size_t{2}, std::size_t{3}, std::size_t{8}}) {
      for (const spread_of spread : {spread_of::normal, spread_of::positive, spread_of::heavy}) {
        group g(dtype::f32, wire, reduction::sum, ranks, 96, ++seed, spread);
        g.write_all(g.ring(wire));
        g.all_are(verdict::within, "");
        group a(dtype::f32, wire, reduction::average, ranks, 96, ++seed, spread);
        a.write_all(a.ring(wire, 1 / static_cast<double>(ranks)));
        a.all_are(verdict::within, "");
        group t(dtype::f32, wire, reduction::sum, ranks, 96, ++seed, spread);
        t.write_all(t.tree(wire));
        t.all_are(verdict::within, "");
        group p(dtype::f32, wire, reduction::average, ranks, 96, ++seed, spread);  // divided before the sum
        p.write_all(p.tree(wire, 1 / static_cast<double>(ranks)));
        p.all_are(verdict::within, "");
      }
    }
  }
}

TEST_CASE("a rank that keeps its own part") {
  group g(dtype::f32, dtype::f32, reduction::sum, 4, 64, 3);
  for (std::size_t r = 0; r < 4; ++r) g.write(r, r == 2 ? g.input(2) : g.ring(dtype::f32));
  const replayed r = g.replay();
  CHECK(r.outputs[1].v == verdict::within);
  CHECK(r.outputs[2].cause_hint == "missing-reduction");
}

TEST_CASE("a sum that is reduced again") {
  for (const std::size_t ranks : {std::size_t{2}, std::size_t{4}}) {
    group g(dtype::f32, dtype::f32, reduction::sum, ranks, 64, 4);
    g.write_all(g.ring(dtype::f32, static_cast<double>(ranks)));
    g.all_are(verdict::beyond, "duplicate-reduction");
  }
}

TEST_CASE("an average over the wrong count") {
  group g(dtype::f32, dtype::f32, reduction::average, 4, 64, 5);
  g.write_all(g.ring(dtype::f32, 1.0 / 3));
  g.all_are(verdict::beyond, "wrong-divisor");
  group h(dtype::f32, dtype::f32, reduction::average, 4, 64, 5);
  h.write_all(h.ring(dtype::f32));
  h.all_are(verdict::beyond, "wrong-divisor");
}

TEST_CASE("a wire of fewer bits than declared") {
  for (const dtype wire : {dtype::bf16, dtype::f16}) {
    group g(dtype::f32, dtype::f32, reduction::sum, 2, 64, 6);
    g.write_all(g.ring(wire));
    g.all_are(verdict::beyond, "low-precision-communication");
    group declared(dtype::f32, wire, reduction::sum, 2, 64, 6);
    declared.write_all(declared.ring(wire));
    declared.all_are(verdict::within, "");
  }
}

TEST_CASE("ranks that hold different results") {
  group g(dtype::f32, dtype::bf16, reduction::sum, 2, 64, 7);
  values y = g.ring(dtype::bf16);
  g.write(0, y);
  y[5] = through(dtype::bf16, y[5] * (1 + 0x1p-8));
  g.write(1, y);
  CHECK(g.replay().outputs[1].cause_hint == "replica-divergence");
}

TEST_CASE("scatter, gather and broadcast") {
  group scatter(dtype::f32, dtype::f32, reduction::sum, 4, 64, 8);
  scatter.row().operation = static_cast<std::uint16_t>(collective_operation::reduce_scatter);
  const values whole = scatter.ring(dtype::f32);
  for (std::size_t r = 0; r < 4; ++r)
    scatter.write(r, values(whole.begin() + static_cast<std::ptrdiff_t>(16 * r),
                            whole.begin() + static_cast<std::ptrdiff_t>(16 * r + 16)));
  scatter.all_are(verdict::within, "");

  group gather(dtype::bf16, dtype::bf16, reduction::none, 3, 8, 9);
  gather.row().operation = static_cast<std::uint16_t>(collective_operation::all_gather);
  values together;
  for (std::size_t r = 0; r < 3; ++r)
    together.insert(together.end(), gather.input(r).begin(), gather.input(r).end());
  gather.write_all(together);
  gather.all_are(verdict::within, "");
  gather.run(1).output().values[3] *= 1.5;
  CHECK(gather.replay().outputs[1].v == verdict::beyond);

  group broadcast(dtype::bf16, dtype::bf16, reduction::none, 3, 8, 10);
  broadcast.row().operation = static_cast<std::uint16_t>(collective_operation::broadcast);
  broadcast.row().peer = 1;
  broadcast.write_all(broadcast.input(1));
  broadcast.all_are(verdict::within, "");
}

TEST_CASE("gathered parts in another order, and a broadcast that a rank did not take") {
  group gather(dtype::f16, dtype::f16, reduction::none, 3, 10, 11);
  gather.row().operation = static_cast<std::uint16_t>(collective_operation::all_gather);
  values swapped;
  for (const std::size_t r : {std::size_t{0}, std::size_t{2}, std::size_t{1}})
    swapped.insert(swapped.end(), gather.input(r).begin(), gather.input(r).end());
  gather.write_all(swapped);
  gather.all_are(verdict::beyond, "shard-mismatch");

  group broadcast(dtype::bf16, dtype::bf16, reduction::none, 3, 8, 12);
  broadcast.row().operation = static_cast<std::uint16_t>(collective_operation::broadcast);
  broadcast.row().peer = 1;
  for (std::size_t r = 0; r < 3; ++r) broadcast.write(r, broadcast.input(r == 2 ? 2 : 1));
  CHECK(broadcast.replay().outputs[0].v == verdict::within);
  CHECK(broadcast.replay().outputs[2].cause_hint == "replica-divergence");
}

TEST_CASE("the part of another rank, and a reduction to a root that did not happen") {
  group scatter(dtype::bf16, dtype::bf16, reduction::sum, 3, 60, 13);
  scatter.row().operation = static_cast<std::uint16_t>(collective_operation::reduce_scatter);
  const values whole = scatter.ring(dtype::bf16);
  for (const std::size_t r : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    const auto from = static_cast<std::ptrdiff_t>(20 * (r == 1 ? 2 : r));
    scatter.write(r, values(whole.begin() + from, whole.begin() + from + 20));
  }
  CHECK(scatter.replay().outputs[0].v == verdict::within);
  CHECK(scatter.replay().outputs[1].cause_hint == "shard-mismatch");

  group reduce(dtype::f32, dtype::f32, reduction::sum, 3, 40, 14);
  reduce.row().operation = static_cast<std::uint16_t>(collective_operation::reduce);
  reduce.row().peer = 2;
  for (std::size_t r = 0; r < 3; ++r) reduce.write(r, reduce.input(r));
  CHECK(reduce.replay().outputs[2].cause_hint == "missing-reduction");
  CHECK(reduce.replay().outputs[0].v == verdict::undecided);  // what the others hold is not promised
}

TEST_CASE("shares that vanish before they are summed") {
  for (const dtype wire : {dtype::f8e5m2, dtype::f16}) {
    const double size = wire == dtype::f16 ? 1e-7 : 3e-5;
    group g(dtype::f32, wire, reduction::average, 8, 90, 15, spread_of::positive);
    for (std::size_t r = 0; r < 8; ++r) {
      values x = g.input(r);
      for (double& v : x) v = size * (1 + 0.1 * std::tanh(v));
      g.run(r).input(0) = stored(dtype::f32, {90}, x);
    }
    g.write_all(values(90, 0.0));
    g.all_are(verdict::beyond, "low-precision-communication");
  }
}

TEST_CASE("rows of a zig-zag are gathered by their places, and told when they stand in rank order") {
  group gather(dtype::f32, dtype::f32, reduction::none, 2, 4, 13);
  gather.row().operation = static_cast<std::uint16_t>(collective_operation::all_gather);
  const std::vector<std::int64_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  const values &x = gather.input(0), &y = gather.input(1);
  gather.tell_places({{0, 1, 6, 7}, {2, 3, 4, 5}}, {all, all}, 8);
  gather.write_all({x[0], x[1], y[0], y[1], y[2], y[3], x[2], x[3]});
  gather.all_are(verdict::within, "");

  group swapped(dtype::f32, dtype::f32, reduction::none, 2, 4, 13);
  swapped.row().operation = static_cast<std::uint16_t>(collective_operation::all_gather);
  swapped.tell_places({{0, 1, 6, 7}, {2, 3, 4, 5}}, {all, all}, 8);
  swapped.write_all({y[0], y[1], x[0], x[1], x[2], x[3], y[2], y[3]});
  swapped.all_are(verdict::beyond, "shard-mismatch");
}

TEST_CASE("sums are scattered in uneven parts, one of them empty, and by their places") {
  group uneven(dtype::f32, dtype::f32, reduction::sum, 3, 7, 14);
  uneven.row().operation = static_cast<std::uint16_t>(collective_operation::reduce_scatter);
  const values sum = uneven.ring(dtype::f32);
  uneven.write(0, values(sum.begin(), sum.begin() + 5));
  uneven.write(1, {});
  uneven.write(2, values(sum.begin() + 5, sum.end()));
  uneven.all_are(verdict::within, "");

  group placed(dtype::f32, dtype::f32, reduction::sum, 2, 4, 15);
  placed.row().operation = static_cast<std::uint16_t>(collective_operation::reduce_scatter);
  placed.tell_places({{0, 1, 2, 3}, {0, 1, 2, 3}}, {{0, 3}, {1, 2}}, 4);
  const values total = placed.ring(dtype::f32);
  placed.write(0, {total[0], total[3]});
  placed.write(1, {total[1], total[2]});
  placed.all_are(verdict::within, "");

  group crossed(dtype::f32, dtype::f32, reduction::sum, 2, 4, 15);
  crossed.row().operation = static_cast<std::uint16_t>(collective_operation::reduce_scatter);
  crossed.tell_places({{0, 1, 2, 3}, {0, 1, 2, 3}}, {{0, 3}, {1, 2}}, 4);
  crossed.write(0, {total[1], total[2]});
  crossed.write(1, {total[0], total[3]});
  crossed.all_are(verdict::beyond, "shard-mismatch");
}

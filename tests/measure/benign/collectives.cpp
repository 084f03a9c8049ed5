// What ranks tell each other, around a ring or up a tree, in the run's own format.
#include <cmath>

#include "measure/benign/program.hpp"

namespace benign {
namespace {

using numdiff::collective_operation;
using numdiff::reduction;

// The sum over ranks of one element, rounded to the wire at every hop.
double travelled(const program& p, const std::vector<tensor>& in, std::size_t i, std::size_t chunk) {
  const std::size_t n = in.size();
  const auto wire = [&](double x) { return numdiff::decode(p.real, numdiff::encode(p.real, x)); };
  if (!p.how.tree || p.reference) {
    double s = in[(chunk + 1) % n][i];
    for (std::size_t hop = 2; hop <= n; ++hop) s = wire(s + in[(chunk + hop) % n][i]);
    return s;
  }
  values level;
  for (const tensor& t : in) level.push_back(t[i]);
  while (level.size() > 1) {
    values next;
    for (std::size_t j = 0; j < level.size(); j += 2) next.push_back(wire(level[j] + level[j + 1]));
    level = next;
  }
  return level[0];
}

}  // namespace

void collectives(program& p, std::int32_t rank) {
  const auto scope = numdiff::scoped::name("collectives");
  const std::int32_t n = p.how.ranks;
  const auto size = static_cast<std::size_t>(n);
  const std::int64_t per_rank = p.between(3, 40) * 8, count = per_rank * n;
  std::vector<tensor> in;
  for (std::int32_t r = 0; r < n; ++r) in.push_back(p.source({count}));
  const auto own = static_cast<std::size_t>(rank);
  std::vector<std::int32_t> group(size);
  for (std::int32_t r = 0; r < n; ++r) group[static_cast<std::size_t>(r)] = r;
  const auto told = [&](collective_operation what, reduction how, std::int64_t elements, int sequence) {
    return numdiff::collective(what, how)
        .communicator("dp")
        .sequence(sequence)
        .size(n)
        .ranks(group.data(), static_cast<std::uint32_t>(n))
        .count(elements)
        .wire(p.real)
        .algorithm(p.how.tree && !p.reference ? "tree" : "ring");
  };
  const auto partial = [&](const tensor& t) { return t.view().partial("dp", reduction::sum); };

  values sums(static_cast<std::size_t>(count)), means(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = travelled(p, in, i, i / static_cast<std::size_t>(per_rank));
  const tensor sum = stored(p.real, {count}, sums);
  recorded("all_reduce", "all_reduce", p.formats())
      .collective(told(collective_operation::all_reduce, reduction::sum, count, 0))
      .view(numdiff::role::input, "x", partial(in[own]))
      .view(numdiff::role::output, "y", sum.view().replicated("dp"));

  const auto begin = static_cast<std::ptrdiff_t>(rank * per_rank);
  const tensor shard =
      stored(p.real, {per_rank}, values(sums.begin() + begin, sums.begin() + begin + per_rank));
  recorded("reduce_scatter", "reduce_scatter", p.formats())
      .collective(told(collective_operation::reduce_scatter, reduction::sum, count, 1))
      .view(numdiff::role::input, "x", partial(in[own]))
      .view(numdiff::role::output, "y", shard.view().shard("dp", 0));
  recorded("all_gather", "all_gather", p.formats())
      .collective(told(collective_operation::all_gather, reduction::none, per_rank, 2))
      .view(numdiff::role::input, "x", shard.view().shard("dp", 0))
      .view(numdiff::role::output, "y", sum.view().replicated("dp"));
  // Each rank divides before the sum.
  std::vector<tensor> shares;
  for (const tensor& t : in)
    shares.push_back(
        stored(p.real, {count}, p.mapped([&](auto a) { return a / static_cast<decltype(a)>(n); }, t)));
  for (std::size_t i = 0; i < means.size(); ++i)
    means[i] = travelled(p, shares, i, i / static_cast<std::size_t>(per_rank));
  recorded("all_reduce_mean", "all_reduce", p.formats())
      .collective(told(collective_operation::all_reduce, reduction::average, count, 3))
      .view(numdiff::role::input, "x", in[own].view().partial("dp", reduction::average))
      .view(numdiff::role::output, "y", stored(p.real, {count}, means).view().replicated("dp"));
  recorded("broadcast", "broadcast", p.formats())
      .collective(told(collective_operation::broadcast, reduction::none, count, 4).peer(0))
      .view(numdiff::role::input, "x", sum.view().replicated("dp"))
      .view(numdiff::role::output, "y", sum.view().replicated("dp"));
  recorded op("reduce", "reduce", p.formats());
  op.collective(told(collective_operation::reduce, reduction::sum, count, 5).peer(0));
  op.view(numdiff::role::input, "x", partial(in[own]));
  if (rank == 0) op.out("y", sum);
}

}  // namespace benign

#include "flat_shards.hpp"

#include "exchange.hpp"
#include "numdiff/ranges.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

using part = std::vector<std::byte>;

part bytes_of(const tensor& x, const numdiff::segment& s) {
  const auto size = static_cast<std::int64_t>(numdiff::bytes_of(x.type));
  const auto begin = x.codes.begin() + s.global_begin * size;
  return {begin, begin + s.length * size};
}

numdiff::collective told(const group& g, numdiff::collective_operation operation, numdiff::reduction how,
                         const tensor& x) {
  return numdiff::collective(operation, how)
      .communicator(g.name.c_str())
      .sequence(g.sequence++)
      .size(g.size())
      .ranks(g.members.data(), static_cast<std::uint32_t>(g.size()))
      .count(x.count())
      .wire(x.type)
      .algorithm("direct");
}

}  // namespace

flat_shards::flat_shards(const engine& e, const std::vector<parameter*>& list)
    : list_(list), offsets_{0}, members_(e.world.data().size()) {
  for (const parameter* p : list_) offsets_.push_back(offsets_.back() + p->value.count());
}

numdiff::segment flat_shards::piece(std::size_t which, std::int32_t member) const {
  return numdiff::overlap(offsets_[which], list_[which]->value.count(),
                          numdiff::part_begin(offsets_.back(), members_, member),
                          numdiff::part_begin(offsets_.back(), members_, member + 1));
}

placement flat_shards::place_of(const engine& e, std::size_t which) const {
  const parameter& p = *list_[which];
  placement at = p.value.place;
  for (const axis a : e.world.data().over)
    if (e.world.size(a) > 1) at[a] = {spread::sharded, 0};
  flat_piece flat{p.value.extents, {}};
  shape begin(flat.whole.size());
  if (p.tp_dimension >= 0) {
    const auto d = static_cast<std::size_t>(p.tp_dimension);
    begin[d] = flat.whole[d] * e.world.at(axis::tp);
    flat.whole[d] *= e.world.size(axis::tp);
  }
  if (at[axis::tp].how == spread::sharded) at[axis::tp].dimension = 0;
  const auto extents = [](const shape& s) { return numdiff::extents(s.data(), static_cast<int>(s.size())); };
  numdiff::each_piece(extents(p.value.extents), extents(begin), extents(flat.whole),
                      piece(which, e.world.data().at),
                      [&](const numdiff::segment& s) { flat.segments.push_back(s); });
  at.flat = std::make_shared<const flat_piece>(std::move(flat));
  return at;
}

tensor flat_shards::cut(const engine& e, std::size_t which, const tensor& x) const {
  const numdiff::segment mine = piece(which, e.world.data().at);
  tensor y(x.type, {mine.length}, place_of(e, which));
  y.codes = bytes_of(x, mine);
  return y;
}

tensor flat_shards::reduce_scatter(const engine& e, std::size_t which, const std::string& name,
                                   const tensor& gradient) const {
  const group& g = e.world.data();
  tensor y = cut(e, which, gradient);
  if (g.size() == 1) return y;
  NUMDIFF_OP(op, name.c_str(), reduce_scatter,
             numdiff::dtypes(y.type, e.real, y.type).order(numdiff::reduction_order::sequential));
  NUMDIFF_COLLECTIVE(
      op, told(g, numdiff::collective_operation::reduce_scatter, numdiff::reduction::sum, gradient));
  NUMDIFF_INPUT(op, "x", view_of(gradient).carries_factors());
  std::vector<message> out;
  for (std::int32_t member = 0; member < g.size(); ++member)
    out.push_back(bytes_of(gradient, piece(which, member)));
  const std::vector<message> in =
      exchange_all(e.world, g, out, std::vector<std::size_t>(out.size(), y.codes.size()));
  with_real(e, [&]<class T>() {
    std::vector<T> sum(static_cast<std::size_t>(y.count()));
    for (const message& addend : in) {
      y.codes = addend;
      const std::vector<T> more = decode<T>(y);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
    }
    encode(sum, y);
  });
  NUMDIFF_GRADIENT(op, "y", view_of(y));
  return y;
}

tensor flat_shards::all_gather(const engine& e, std::size_t which, const std::string& name,
                               const tensor& mine) const {
  const group& g = e.world.data();
  tensor y = list_[which]->value;
  if (g.size() == 1) {
    y.codes = mine.codes;
    return y;
  }
  NUMDIFF_OP(op, name.c_str(), all_gather, numdiff::dtypes(y.type, y.type, y.type));
  NUMDIFF_COLLECTIVE(op, told(g, numdiff::collective_operation::all_gather, numdiff::reduction::none, mine));
  NUMDIFF_INPUT(op, "x", view_of(mine));
  std::vector<std::size_t> sizes;
  for (std::int32_t member = 0; member < g.size(); ++member)
    sizes.push_back(bytes_of(y, piece(which, member)).size());
  const std::vector<message> in =
      exchange_all(e.world, g, std::vector<message>(sizes.size(), mine.codes), sizes);
  // The fault stale-gather: the last rank goes on with the value that it had.
  const parameter& p = *list_[which];
  if (p.name != "attn.q" || g.at != g.size() - 1 || !e.fault.here("stale-gather", e.step, p.layer)) {
    y.codes.clear();
    for (const message& one : in) y.codes.insert(y.codes.end(), one.begin(), one.end());
  }
  NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

}  // namespace minigpt

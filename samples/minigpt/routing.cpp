#include "routing.hpp"

#include <cstring>

#include "exchange.hpp"
#include "numdiff/ranges.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

std::size_t row_bytes(const tensor& x, std::int64_t width) {
  return static_cast<std::size_t>(width) * numdiff::bytes_of(x.type);
}

numdiff::collective told(const group& g, std::int64_t count, dtype wire) {
  return numdiff::collective(numdiff::collective_operation::all_to_all, numdiff::reduction::none)
      .communicator(g.name.c_str())
      .sequence(g.sequence++)
      .size(g.size())
      .ranks(g.members.data(), static_cast<std::uint32_t>(g.size()))
      .count(count)
      .wire(wire)
      .algorithm("direct");
}

placement by_ids(const engine& e, const std::vector<std::int64_t>& ids, std::int64_t all) {
  placement p;
  if (e.world.size(axis::dp) > 1) p[axis::dp] = {spread::sharded, 0};
  p.ids = std::make_shared<const index_list>(index_list{ids, all});
  return p;
}

std::string named(const expert_rows& r) {
  return "expert." + std::to_string(r.expert);
}

}  // namespace

std::pair<std::int64_t, std::int64_t> experts_of(const engine& e, std::int32_t dp_at) {
  const std::int32_t ranks = e.world.size(axis::dp);
  return {numdiff::part_begin(e.config.experts, ranks, dp_at),
          numdiff::part_begin(e.config.experts, ranks, dp_at + 1)};
}

routing::routing(const engine& e, const tensor& chosen)
    : first_token_(e.first_sequence() * e.config.sequence), tokens_(chosen.rows()) {
  const group& dp = e.world.dp();
  std::vector<std::size_t> sizes;
  for (std::int32_t r = 0; r < dp.size(); ++r)
    sizes.push_back(static_cast<std::size_t>((e.first_sequence(r + 1) - e.first_sequence(r)) *
                                             e.config.sequence * choices) *
                    sizeof(std::int32_t));
  const std::vector<message> in =
      exchange_all(e.world, dp, std::vector<message>(sizes.size(), chosen.codes), sizes);
  for (std::int64_t x = 0; x < e.config.experts; ++x) all_.push_back({x, {}, {}, {}});
  std::int64_t row = 0;
  for (std::int32_t r = 0; r < dp.size(); ++r)
    for (std::size_t at = 0; at < sizes[static_cast<std::size_t>(r)]; at += sizeof(std::int32_t), ++row) {
      std::int32_t expert = 0;
      std::memcpy(&expert, in[static_cast<std::size_t>(r)].data() + at, sizeof expert);
      expert_rows& rows = all_[static_cast<std::size_t>(expert)];
      rows.tokens.push_back(row / choices);
      rows.rows.push_back(row);
      rows.owners.push_back(r);
    }
  const auto [first, last] = experts_of(e, dp.at);
  mine_.assign(all_.begin() + first, all_.begin() + last);
}

placement routing::by_token(const engine& e, const expert_rows& rows) {
  return by_ids(e, rows.tokens, e.sequences() * e.config.sequence);
}
placement routing::by_row(const engine& e, const expert_rows& rows) {
  return by_ids(e, rows.rows, e.sequences() * e.config.sequence * choices);
}

std::vector<tensor> routing::dispatch(const engine& e, const std::string& name, const tensor& x,
                                      carries factors) const {
  const bool gradient = factors == carries::loss_scale, by_choice = x.extents.size() == 3;
  const group& dp = e.world.dp();
  const std::int64_t width = x.extents.back();
  const std::size_t bytes = row_bytes(x, width);
  NUMDIFF_OP(op, name.c_str(), all_to_all, numdiff::dtypes(x.type, x.type, x.type));
  NUMDIFF_COLLECTIVE(op, told(dp, x.count(), x.type));
  NUMDIFF_INPUT(op, "x", gradient ? view_of(x).carries_factors() : view_of(x));
  std::vector<message> out(static_cast<std::size_t>(dp.size()));
  std::vector<std::size_t> sizes(out.size());
  for (std::int32_t r = 0; r < dp.size(); ++r) {
    const auto [first, last] = experts_of(e, r);
    for (std::int64_t i = first; i < last; ++i) {
      const expert_rows& rows = all_[static_cast<std::size_t>(i)];
      for (std::size_t k = 0; k < rows.rows.size(); ++k) {
        if (rows.owners[k] != dp.at) continue;
        const std::int64_t at =
            by_choice ? rows.rows[k] - first_token_ * choices : rows.tokens[k] - first_token_;
        const auto begin = x.codes.begin() + at * static_cast<std::int64_t>(bytes);
        out[static_cast<std::size_t>(r)].insert(out[static_cast<std::size_t>(r)].end(), begin,
                                                begin + static_cast<std::int64_t>(bytes));
      }
    }
  }
  for (const expert_rows& rows : mine_)
    for (const std::int32_t owner : rows.owners) sizes[static_cast<std::size_t>(owner)] += bytes;
  const std::vector<message> in = exchange_all(e.world, dp, out, sizes);
  std::vector<std::size_t> taken(in.size());
  std::vector<tensor> got;
  for (const expert_rows& rows : mine_) {
    tensor& y = got.emplace_back(x.type, shape{static_cast<std::int64_t>(rows.rows.size()), width},
                                 by_choice ? by_row(e, rows) : by_token(e, rows));
    for (std::size_t k = 0; k < rows.rows.size(); ++k) {
      const auto from = static_cast<std::size_t>(rows.owners[k]);
      std::memcpy(y.codes.data() + k * bytes, in[from].data() + taken[from], bytes);
      taken[from] += bytes;
    }
    if (gradient)
      NUMDIFF_GRADIENT(op, named(rows).c_str(), view_of(y));
    else
      NUMDIFF_OUTPUT(op, named(rows).c_str(), view_of(y));
  }
  return got;
}

tensor routing::combine(const engine& e, const std::string& name, const std::vector<tensor>& made,
                        carries factors) const {
  const bool gradient = factors == carries::loss_scale;
  const group& dp = e.world.dp();
  const std::int64_t width = made.front().columns();
  const dtype type = made.front().type;
  const std::size_t bytes = row_bytes(made.front(), width);
  NUMDIFF_OP(op, name.c_str(), all_to_all, numdiff::dtypes(type, type, type));
  NUMDIFF_COLLECTIVE(op, told(dp, tokens_ * choices * width, type));
  std::vector<message> out(static_cast<std::size_t>(dp.size()));
  for (std::size_t i = 0; i < made.size(); ++i) {
    tensor x = made[i];
    x.place = by_row(e, mine_[i]);
    NUMDIFF_INPUT(op, named(mine_[i]).c_str(), gradient ? view_of(x).carries_factors() : view_of(x));
    for (std::size_t k = 0; k < mine_[i].owners.size(); ++k) {
      message& to = out[static_cast<std::size_t>(mine_[i].owners[k])];
      const auto begin = x.codes.begin() + static_cast<std::ptrdiff_t>(k * bytes);
      to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
    }
  }
  std::vector<std::size_t> sizes(out.size());
  const auto each_of_mine = [&](const auto& f) {
    for (std::int32_t r = 0; r < dp.size(); ++r) {
      const auto [first, last] = experts_of(e, r);
      for (std::int64_t i = first; i < last; ++i) {
        const expert_rows& rows = all_[static_cast<std::size_t>(i)];
        for (std::size_t k = 0; k < rows.rows.size(); ++k)
          if (rows.owners[k] == dp.at) f(static_cast<std::size_t>(r), rows.rows[k] - first_token_ * choices);
      }
    }
  };
  each_of_mine([&](std::size_t from, std::int64_t) { sizes[from] += bytes; });
  const std::vector<message> in = exchange_all(e.world, dp, out, sizes);
  std::vector<std::size_t> taken(in.size());
  tensor y(type, {tokens_, choices, width}, e.tokens());
  each_of_mine([&](std::size_t from, std::int64_t row) {
    std::memcpy(y.codes.data() + static_cast<std::size_t>(row) * bytes, in[from].data() + taken[from], bytes);
    taken[from] += bytes;
  });
  if (gradient)
    NUMDIFF_GRADIENT(op, "y", view_of(y));
  else
    NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

}  // namespace minigpt

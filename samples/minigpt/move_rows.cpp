#include "move_rows.hpp"

#include <algorithm>
#include <cstring>

#include "exchange.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

std::size_t row_bytes(const tensor& x) {
  return x.codes.size() / static_cast<std::size_t>(x.rows());
}

// For every row of a part, its row among those of the whole.
std::vector<std::size_t> rows_in(const token_rows& part, const std::vector<std::int64_t>& whole) {
  std::vector<std::size_t> at;
  for (const std::int64_t token : part.ids())
    at.push_back(static_cast<std::size_t>(std::ranges::lower_bound(whole, token) - whole.begin()));
  return at;
}

numdiff::collective told(const row_owners& who, numdiff::collective_operation operation,
                         numdiff::reduction how, const tensor& x) {
  return numdiff::collective(operation, how)
      .communicator(who.ranks.name.c_str())
      .sequence(who.ranks.sequence++)
      .size(who.ranks.size())
      .ranks(who.ranks.members.data(), static_cast<std::uint32_t>(who.ranks.size()))
      .count(x.count())
      .wire(x.type)
      .algorithm("direct");
}

std::vector<std::size_t> sizes_of(const row_owners& who, std::size_t row) {
  std::vector<std::size_t> sizes;
  for (const rows_ptr& part : who.parts) sizes.push_back(static_cast<std::size_t>(part->count) * row);
  return sizes;
}

}  // namespace

row_owners residual_owners(const engine& e) {
  row_owners who{e.world.tp(), {}, e.residual(), e.tokens()};
  if (!e.config.sequence_parallel) return {e.world.over({}), {}, who.part, who.whole};
  for (std::int32_t at = 0; at < who.ranks.size(); ++at) who.parts.push_back(e.residual_rows(at));
  return who;
}

row_owners context_owners(const engine& e) {
  row_owners who{e.world.cp(), {}, e.tokens_and(1), e.keys(spread::replicated)};
  for (std::int32_t at = 0; at < who.ranks.size(); ++at) who.parts.push_back(e.context_rows(at));
  return who;
}

tensor all_gather_rows(const engine& e, const row_owners& who, const std::string& name, tensor x,
                       carries factors, bool wrong_order) {
  if (who.ranks.size() == 1) return x;
  const bool gradient = factors == carries::loss_scale;
  NUMDIFF_OP(op, name.c_str(), all_gather, numdiff::dtypes(x.type, x.type, x.type));
  NUMDIFF_COLLECTIVE(op, told(who, numdiff::collective_operation::all_gather, numdiff::reduction::none, x));
  NUMDIFF_INPUT(op, "x", gradient ? view_of(x).carries_factors() : view_of(x));
  const std::vector<std::int64_t> tokens = who.whole.rows->ids();
  tensor y(x.type, {who.whole.rows->count, x.columns()}, who.whole);
  const std::size_t row = row_bytes(x);
  const std::vector<message> out(who.parts.size(), x.codes);
  const std::vector<message> in = exchange_all(e.world, who.ranks, out, sizes_of(who, row));
  for (std::size_t r = 0; r < in.size(); ++r) {
    const std::vector<std::size_t> at = rows_in(*who.parts[wrong_order ? in.size() - 1 - r : r], tokens);
    for (std::size_t i = 0; i < at.size(); ++i)
      std::memcpy(y.codes.data() + at[i] * row, in[r].data() + i * row, row);
  }
  if (gradient)
    NUMDIFF_GRADIENT(op, "y", view_of(y));
  else
    NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

tensor reduce_scatter_rows(const engine& e, const row_owners& who, const std::string& name, tensor x,
                           carries factors) {
  if (who.ranks.size() == 1) return x;
  const bool gradient = factors == carries::loss_scale;
  NUMDIFF_OP(op, name.c_str(), reduce_scatter,
             numdiff::dtypes(x.type, e.real, x.type).order(numdiff::reduction_order::sequential));
  NUMDIFF_COLLECTIVE(op,
                     told(who, numdiff::collective_operation::reduce_scatter, numdiff::reduction::sum, x));
  NUMDIFF_INPUT(op, "x", gradient ? view_of(x).carries_factors() : view_of(x));
  const std::vector<std::int64_t> tokens = x.place.rows->ids();
  const std::size_t row = row_bytes(x);
  std::vector<message> out;
  for (const rows_ptr& part : who.parts) {
    message& one = out.emplace_back();
    for (const std::size_t at : rows_in(*part, tokens))
      one.insert(one.end(), x.codes.begin() + static_cast<std::ptrdiff_t>(at * row),
                 x.codes.begin() + static_cast<std::ptrdiff_t>((at + 1) * row));
  }
  tensor y(x.type, {who.part.rows->count, x.columns()}, who.part);
  const std::vector<message> in =
      exchange_all(e.world, who.ranks, out, std::vector<std::size_t>(out.size(), y.codes.size()));
  with_real(e, [&]<class T>() {
    std::vector<T> sum(static_cast<std::size_t>(y.count()));
    for (const message& addend : in) {
      y.codes = addend;
      const std::vector<T> more = decode<T>(y);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
    }
    encode(sum, y);
  });
  if (gradient)
    NUMDIFF_GRADIENT(op, "y", view_of(y));
  else
    NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

}  // namespace minigpt

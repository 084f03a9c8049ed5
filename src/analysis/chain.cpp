#include "analysis/chain.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/align.hpp"

namespace numdiff::analysis {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  hash ^= word + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdU;
  return hash ^ (hash >> 32);
}

std::uint64_t bits_of(double x) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

std::uint64_t exact_key(const model::capture_row& row) noexcept {
  std::uint64_t h = mix(row.dtype, static_cast<std::uint64_t>(row.count));
  for (const std::uint64_t word : {row.digest0, row.digest1, row.scale_digest0, row.scale_digest1,
                                   row.zero_point_digest0, row.zero_point_digest1}) {
    h = mix(h, word);
  }
  return h;
}

// Equal for the same numbers in another order. Sums depend on the order and are compared apart.
std::uint64_t bag_key(const model::capture_row& row) noexcept {
  std::uint64_t h = mix(row.dtype, static_cast<std::uint64_t>(row.count));
  for (const std::int64_t n :
       {row.hidden, row.nan, row.positive_infinity, row.negative_infinity, row.zero, row.negative_zero,
        row.subnormal, row.maximum_positive, row.maximum_negative}) {
    h = mix(h, static_cast<std::uint64_t>(n));
  }
  for (const double x : {row.amax, row.smallest, row.minimum, row.maximum}) h = mix(h, bits_of(x));
  return h;
}

bool same_sums(const model::capture_row& a, const model::capture_row& b) noexcept {
  const auto at = [](double sum, int exponent) { return std::ldexp(sum, exponent); };
  const double scale = at(a.sum_abs, a.sum_exponent);
  const double squares = at(a.sum_sq, 2 * a.sum_exponent);
  return std::abs(at(a.sum, a.sum_exponent) - at(b.sum, b.sum_exponent)) <= 1e-9 * scale &&
         std::abs(scale - at(b.sum_abs, b.sum_exponent)) <= 1e-9 * scale &&
         std::abs(squares - at(b.sum_sq, 2 * b.sum_exponent)) <= 1e-9 * squares;
}

// The place of a capture in the program, without the step.
using program_place = std::tuple<std::uint16_t, std::int32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                                 std::uint16_t, std::uint32_t, std::uint16_t, std::uint32_t>;

program_place place_in_program(const run_index& run, const logical_capture& c, std::uint32_t scope) {
  const logical_op& op = run.ops()[c.op];
  return {static_cast<std::uint16_t>(op.phase),
          op.micro_batch,
          scope,
          op.name,
          op.call,
          static_cast<std::uint16_t>(c.role),
          c.name,
          static_cast<std::uint16_t>(c.usage),
          c.ordinal};
}

// Numbers scopes so that layers share one.
class general_scopes {
 public:
  explicit general_scopes(const symbols& names) : names_(names) {}
  std::uint32_t of(std::uint32_t scope) {
    const auto [at, fresh] = by_symbol_.emplace(scope, 0);
    if (fresh) {
      const auto next = static_cast<std::uint32_t>(by_name_.size());
      at->second = by_name_.emplace(general_name(names_.text(scope)), next).first->second;
    }
    return at->second;
  }

 private:
  const symbols& names_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_symbol_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
};

// What an op that passes numbers on has read; -1 none.
std::int32_t operand_of(const run_index& run, const logical_op& op) {
  for (std::uint32_t i = 0; i < op.captures; ++i) {
    const logical_capture& c = run.captures()[op.first_capture + i];
    if (!c.written && c.role != role::scalar && c.role != role::scale)
      return static_cast<std::int32_t>(op.first_capture + i);
  }
  return -1;
}

// How often captures of one place had a writer. The first step of a place does not count against it:
// weights have no writer before the first update.
struct habit {
  std::uint32_t seen = 0, written = 0, moved = 0;
  std::int64_t first_step = 0;
  std::int32_t example = -1;  // a capture that wrote it

  [[nodiscard]] habit without(const habit& part) const {
    habit rest = *this;
    rest.seen -= part.seen;
    rest.written -= part.written;
    rest.moved -= part.moved;
    return rest;
  }
  [[nodiscard]] bool usually_written() const { return seen >= 2 && written * 4 >= seen * 3; }
  [[nodiscard]] bool usually_in_place() const { return seen >= 2 && (written - moved) * 4 >= seen * 3; }
};

}  // namespace

bool tells_origin(const model::capture_row& row) noexcept {
  return row.count <= 1 || row.smallest < row.amax;
}

std::string general_name(std::string_view scope) {
  std::string text;
  for (std::size_t i = 0; i < scope.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(scope[i])) == 0) {
      text += scope[i];
    } else if (i == 0 || std::isdigit(static_cast<unsigned char>(scope[i - 1])) == 0) {
      text += '#';
    }
  }
  return text;
}

chain::chain(const run_index& run) : run_(run), flows_(run.captures().size()) {
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (!run.captures()[i].written) flows_[i].from.origin = origin::written;
  }
  std::vector<std::vector<rank_capture>> by_rank(run.run().ranks.size());
  for (std::size_t i = 0; i < run.captures().size(); ++i) {
    for (const member& m : run.captures()[i].members)
      by_rank[m.rank].push_back({m.row, static_cast<std::int32_t>(i)});
  }
  for (std::uint32_t r = 0; r < by_rank.size(); ++r) link_rank(r, std::exchange(by_rank[r], {}));
  find_gaps();
}

bool chain::computed(std::int32_t capture) const {
  for (int hops = 0; hops < 16; ++hops) {
    const link& from = of(capture).from;
    if (from.origin == origin::none || from.from < 0) return false;
    if (from.origin == origin::read) {
      capture = from.from;
      continue;
    }
    const logical_op& writer = run_.ops()[run_.captures()[static_cast<std::size_t>(from.from)].op];
    if (!is_auxiliary(run_.kind_of(writer), writer.phase)) return true;
    const std::int32_t behind = operand_of(run_, writer);
    if (behind < 0) return true;
    capture = behind;
  }
  return true;
}

std::int32_t chain::writer(std::int32_t capture) const {
  const link* from = &of(capture).from;
  while (from->origin == origin::read && from->from >= 0) from = &of(from->from).from;  // ever earlier
  return from->origin == origin::none || from->origin == origin::read ? -1 : from->from;
}

std::int32_t chain::behind_casts(std::int32_t capture) const {
  for (int hops = 0; hops < 16; ++hops) {
    const link& from = of(capture).from;
    if (from.origin == origin::none || from.from < 0) break;
    if (from.origin == origin::read) {
      capture = from.from;
      continue;
    }
    const logical_op& writer = run_.ops()[run_.captures()[static_cast<std::size_t>(from.from)].op];
    const std::string_view kind = run_.kind_of(writer);
    const std::int32_t behind = kind == "cast" || kind == "copy" ? operand_of(run_, writer) : -1;
    if (behind < 0) break;
    capture = behind;
  }
  return capture;
}

void chain::link_rank(std::uint32_t rank, std::vector<rank_capture> order) {
  std::ranges::sort(order, {}, &rank_capture::row);

  const model::rank_data& data = run_.run().ranks[rank];
  std::unordered_map<std::uint64_t, link> written;
  std::unordered_map<std::uint64_t, std::int32_t> read;
  // Different tensors may share extremes: the last of them by key, and by index into `bag` those before it.
  struct bagged {
    rank_capture what;
    std::int64_t before;
  };
  std::unordered_map<std::uint64_t, std::int64_t> bags;
  std::vector<bagged> bag;
  written.reserve(order.size() / 2);
  bags.reserve(order.size() / 2);
  bag.reserve(order.size() / 2);
  for (const auto& [row_number, capture] : order) {
    const model::capture_row& row = data.captures[row_number];
    const std::uint64_t key = exact_key(row);
    if (run_.captures()[static_cast<std::size_t>(capture)].written) {
      const auto [at, first] = written.try_emplace(key, link{origin::written, capture, true});
      if (!first) at->second = {origin::written, capture, false};
      const auto [last, fresh] = bags.try_emplace(bag_key(row), -1);
      bag.push_back({{row_number, capture}, last->second});
      last->second = static_cast<std::int64_t>(bag.size()) - 1;
      continue;
    }
    const auto moved_from = [&]() -> std::int32_t {
      const auto last = bags.find(bag_key(row));
      for (std::int64_t at = last == bags.end() ? -1 : last->second; at >= 0;) {
        const bagged& one = bag[static_cast<std::size_t>(at)];
        if (same_sums(row, data.captures[one.what.row])) return one.what.capture;
        at = one.before;
      }
      return -1;
    };
    link found;
    if (const auto at = written.find(key); at != written.end()) {
      found = at->second;
    } else if (const std::int32_t moved = moved_from(); moved >= 0) {
      found = {origin::moved, moved, false};
    } else if (const auto again = read.find(key); again != read.end()) {
      found = {origin::read, again->second, false};
    }
    read.try_emplace(key, capture);
    read_flow& flow = flows_[static_cast<std::size_t>(capture)];
    if (flow.ranks.empty() || found.origin < flow.from.origin) {
      flow.from = found;
      flow.ranks.clear();
    }
    if (found.origin == flow.from.origin) flow.ranks.push_back(data.rank);
  }
}

void chain::find_gaps() {
  std::map<program_place, habit> exact, general;
  general_scopes scopes(run_.names());
  const auto exact_place = [&](const logical_capture& c) {
    return place_in_program(run_, c, run_.ops()[c.op].scope);
  };
  const auto general_place = [&](const logical_capture& c) {
    return place_in_program(run_, c, scopes.of(run_.ops()[c.op].scope));
  };
  const auto judged = [](const logical_capture& c) { return !c.written && c.role != role::scalar; };
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const logical_capture& c = run_.captures()[i];
    if (!judged(c)) continue;
    const std::int64_t step = run_.ops()[c.op].step;
    habit& here = exact.try_emplace(exact_place(c), habit{.first_step = step}).first->second;
    habit& like = general[general_place(c)];
    const bool linked = flows_[i].from.origin >= origin::moved;
    if (!linked && step == here.first_step) continue;
    const model::capture_row& row = run_.capture_row_of(c.members.front());
    if (linked && !tells_origin(row)) continue;
    // Equal numbers, or none that is finite, are in place in any order.
    const bool moved = flows_[i].from.origin == origin::moved || !(row.minimum < row.maximum);
    for (habit* h : {&here, &like}) {
      ++h->seen;
      if (linked) ++h->written;
      if (linked && moved) ++h->moved;
      if (linked && h->example < 0) h->example = flows_[i].from.from;
    }
  }

  std::unordered_map<std::uint64_t, std::pair<member, std::uint32_t>> bags_of_ranks;
  const auto holder = [&](const model::capture_row& row, std::uint32_t own) -> const member* {
    if (bags_of_ranks.empty()) {
      for (const logical_capture& c : run_.captures()) {
        if (!c.written) continue;
        for (const member& m : c.members) {
          bags_of_ranks[mix(bag_key(run_.capture_row_of(m)), m.rank)] = {m, m.rank};
        }
      }
    }
    for (std::uint32_t r = 0; r < run_.run().ranks.size(); ++r) {
      if (r == own) continue;
      const auto at = bags_of_ranks.find(mix(bag_key(row), r));
      if (at != bags_of_ranks.end() && same_sums(row, run_.capture_row_of(at->second.first)))
        return &at->second.first;
    }
    return nullptr;
  };
  placement_cache placements;
  const auto part_of = [&](const member& m) -> const std::string& {
    return placements.of(run_.rank_of(m).strings[run_.capture_row_of(m).placement]).part;
  };

  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const logical_capture& c = run_.captures()[i];
    read_flow& flow = flows_[i];
    if (!judged(c) || flow.from.origin == origin::written) continue;
    const habit& here = exact[exact_place(c)];
    const habit like = general[general_place(c)].without(here);
    if (flow.from.origin == origin::none) {
      bool other_part = false;  // what the other rank wrote is another part of the whole
      for (const member& m : c.members) {
        if (run_.run().ranks[m.rank].rank != flow.ranks.front()) continue;
        const member* from = holder(run_.capture_row_of(m), m.rank);
        flow.foreign = from != nullptr;
        // Constants are alike everywhere.
        const model::capture_row& row = run_.capture_row_of(m);
        other_part = from != nullptr && row.minimum < row.maximum && part_of(*from) != part_of(m);
      }
      flow.first = run_.ops()[c.op].step == here.first_step;
      // A weight has its place: no habit is needed to know that another part is the wrong one.
      if (flow.first || !(here.usually_written() || (other_part && c.role == role::weight))) continue;
      flow.gap = flow.foreign ? gap::foreign_rank : gap::no_writer;
    } else if (flow.from.origin == origin::moved) {
      if (!here.usually_in_place() && !like.usually_in_place()) continue;
      flow.gap = gap::rearranged;
    } else {
      continue;
    }
    flow.expected = here.example >= 0 ? here.example : like.example;
  }
}

}  // namespace numdiff::analysis

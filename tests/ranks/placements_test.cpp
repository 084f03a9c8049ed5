// One tensor in every layout, compared with every other: equal by digests, near by sketches and by values,
// and the rank of what is wrong.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "array.hpp"
#include "numdiff/ranges.hpp"
#include "ranks/recorded_run.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;
using reproduce::array;

namespace {

constexpr std::int64_t rows = 16, columns = 24;

std::vector<double> whole() {
  return reproduce::normal(rows * columns, 3);
}

// What one rank holds: rows and columns of the whole, -1 for padding, and how its view says so.
struct part {
  std::vector<std::int64_t> row, column;
  std::function<view(const view&, const part&)> place;
  bool flat = false;  // then `column` are indices of the flattened tensor
};

struct layout {
  const char* name;
  std::int32_t ranks;
  std::function<part(session&, std::int32_t rank)> at;
  bool by_ids = false;  // ids are kept with the values; without them no rank is known
};

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(std::max<std::int64_t>(end - begin, 0)));
  std::iota(all.begin(), all.end(), begin);
  return all;
}
std::vector<std::int64_t> joined(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

part box(std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
  return {range(r0, r1), range(c0, c1), [](const view& v, const part& p) {
            const auto begin = [](const std::vector<std::int64_t>& of) {
              return of.empty() ? 0 : of.front();
            };
            return v.shard("tp", 1).box(0, begin(p.row), rows).box(1, begin(p.column), columns);
          }};
}
part by_rows(std::vector<std::int64_t> ids) {
  return {std::move(ids), range(0, columns), [](const view& v, const part& p) {
            return v.shard("tp", 0).ids(0, p.row.data(), p.row.size(), rows);
          }};
}
part held(std::vector<std::int64_t> row, std::vector<std::int64_t> column,
          std::function<view(const view&)> place) {
  return {std::move(row), std::move(column),
          [place = std::move(place)](const view& v, const part&) { return place(v); }};
}

const std::vector<layout>& layouts() {
  static const std::vector<layout> all = {
      {"one rank", 1, [](session&, std::int32_t) { return box(0, rows, 0, columns); }},
      {"columns", 4, [](session&, std::int32_t r) { return box(0, rows, 6 * r, 6 * r + 6); }},
      {"uneven rows, one rank empty", 3,
       [](session&, std::int32_t r) {
         const std::int64_t ends[] = {0, 11, 11, rows};
         return box(ends[r], ends[r + 1], 0, columns);
       }},
      {"a grid, replicated twice", 8,
       [](session& s, std::int32_t r) {
         s.mesh("dp", 2, r / 4);
         part p = box(r / 2 % 2 * 8, r / 2 % 2 * 8 + 8, r % 2 * 12, r % 2 * 12 + 12);
         p.place = [place = p.place](const view& v, const part& own) {
           return place(v, own).replicated("dp");
         };
         return p;
       }},
      {"zig-zag rows", 4,
       [](session&, std::int32_t r) {
         return held(joined(range(2 * r, 2 * r + 2), range(14 - 2 * r, 16 - 2 * r)), range(0, columns),
                     [r](const view& v) { return v.shard("tp", 0, zigzag(rows, 4, r)); });
       }},
      {"three fused matrices by columns", 4,
       [](session&, std::int32_t r) {
         return held(range(0, rows),
                     joined(joined(range(2 * r, 2 * r + 2), range(8 + 2 * r, 10 + 2 * r)),
                            range(16 + 2 * r, 18 + 2 * r)),
                     [r](const view& v) {
                       return v.shard("tp", 1, fused({8, 8, 8}, 4, r));
                     });
       }},
      {"rows of a vocabulary that is padded to 20", 4,
       [](session&, std::int32_t r) {
         std::vector<std::int64_t> own = range(5 * r, 5 * r + 5);
         for (std::int64_t& i : own)
           if (i >= rows) i = -1;
         return held(own, range(0, columns),
                     [r](const view& v) { return v.shard("tp", 0, padded(rows, 20, 4, r)); });
       }},
      {"rows by id, padded", 3,
       [](session&, std::int32_t r) {
         std::vector<std::int64_t> ids;
         for (std::int64_t i = rows - 1 - r; i >= 0; i -= 3) ids.push_back(i);
         ids.resize(7, -1);
         return by_rows(ids);
       },
       true},
      {"rows by id, on an axis that no view names", 2,
       [](session&, std::int32_t r) {
         part p = by_rows(r == 0 ? std::vector<std::int64_t>{15, 3, 8, 1, 0, 11, 12}
                                 : std::vector<std::int64_t>{2, 4, 5, 6, 7, 9, 10, 13, 14});
         p.place = [](const view& v, const part& own) {
           return v.ids(0, own.row.data(), own.row.size(), rows);
         };
         return p;
       },
       true},
      {"a flat piece each", 3,
       [](session&, std::int32_t r) {
         const std::int64_t begin = r * 130, end = std::min<std::int64_t>(begin + 130, rows * columns);
         part p;
         p.flat = true;
         p.column = range(begin, end);
         p.place = [](const view& v, const part& own) {
           return v.shard("tp", 0).flat(
               {{own.column.front(), 0, static_cast<std::int64_t>(own.column.size())}}, {rows, columns});
         };
         return p;
       }},
  };
  return all;
}

// The layout's part of `values`, captured as a weight.
reproduce::program holding(const layout& l, dtype type, const std::vector<double>& values) {
  return [=](session& s, std::int32_t rank) {
    s.mesh("tp", l.ranks, rank);
    const part p = l.at(s, rank);
    std::vector<double> own;
    if (p.flat)
      for (const std::int64_t i : p.column) own.push_back(values[static_cast<std::size_t>(i)]);
    for (const std::int64_t r : p.row) {
      for (const std::int64_t c : p.column)
        own.push_back(r < 0 ? 99 : values[static_cast<std::size_t>(r * columns + c)]);
    }
    const std::vector<std::int64_t> shape = p.flat ? std::vector{static_cast<std::int64_t>(own.size())}
                                                   : std::vector{static_cast<std::int64_t>(p.row.size()),
                                                                 static_cast<std::int64_t>(p.column.size())};
    const array held(type, shape, own);
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(forward);
    NUMDIFF_OP(op, "use", mystery, dtypes(type, type, type));
    NUMDIFF_WEIGHT(op, "w", p.place(held.seen(), p));
  };
}

// Which ranks of a layout hold an element.
std::vector<std::int32_t> holders(const layout& l, std::int64_t element) {
  std::vector<std::int32_t> all;
  for (std::int32_t r = 0; r < l.ranks; ++r) {
    session none({});
    const part p = l.at(none, r);
    const auto has = [](const std::vector<std::int64_t>& of, std::int64_t i) {
      return std::ranges::find(of, i) != of.end();
    };
    if (p.flat ? has(p.column, element) : has(p.row, element / columns) && has(p.column, element % columns))
      all.push_back(r);
  }
  return all;
}

}  // namespace

TEST_CASE("every layout equals every other, bit for bit, at every level") {
  for (const level l : {level::stats, level::tensors}) {
    std::vector<std::unique_ptr<recorded_run>> runs;
    for (const layout& one : layouts())
      runs.push_back(std::make_unique<recorded_run>(holding(one, dtype::f32, whole()), one.ranks, l));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (std::size_t j = 0; j < runs.size(); ++j) {
        if (i == j) continue;
        const auto c = compare(runs[i]->run(), runs[j]->run());
        INFO(std::string(layouts()[i].name)
             << " against " << std::string(layouts()[j].name) << ": " << told(c));
        CHECK(c.verdict == outcome::agree);
        CHECK(c.totals.equal == 1);
      }
    }
  }
}

TEST_CASE("every layout is one rounding from every other in another format, by sketches and by values") {
  for (const level l : {level::sketch, level::tensors}) {
    std::vector<std::unique_ptr<recorded_run>> exact, rounded;
    for (const layout& one : layouts()) {
      exact.push_back(std::make_unique<recorded_run>(holding(one, dtype::f32, whole()), one.ranks, l));
      rounded.push_back(std::make_unique<recorded_run>(holding(one, dtype::bf16, whole()), one.ranks, l));
    }
    for (std::size_t i = 0; i < exact.size(); ++i) {
      for (std::size_t j = 0; j < rounded.size(); ++j) {
        const auto c = compare(exact[i]->run(), rounded[j]->run());
        INFO(std::string(layouts()[i].name)
             << " against " << std::string(layouts()[j].name) << ": " << told(c));
        CHECK(c.verdict == outcome::agree);
        CHECK(c.totals.within == 1);
      }
    }
  }
}

TEST_CASE("a wrong element has the ranks that hold it, in every layout") {
  for (const std::int64_t element : {5 * columns + 13, 14 * columns + 3}) {
    std::vector<double> wrong = whole();
    wrong[static_cast<std::size_t>(element)] += 0.75;
    for (const level l : {level::stats, level::tensors}) {
      const recorded_run one(holding(layouts().front(), dtype::f32, whole()), 1, l);
      for (const layout& other : layouts()) {
        if (other.ranks == 1) continue;
        const recorded_run many(holding(other, dtype::f32, wrong), other.ranks, l);
        const auto c = compare(one.run(), many.run());
        INFO(std::string(other.name) << ": " << told(c));
        CHECK(c.verdict == outcome::differ);
        REQUIRE(c.first_divergence);
        if (l == level::tensors || !other.by_ids)
          CHECK(c.first_divergence->where.ranks == holders(other, element));
      }
    }
  }
}

TEST_CASE("a flat shard of several parameters: each rank's stretch of the buffer is parts of them") {
  // Three parameters stand behind each other in one buffer, which four ranks hold in even stretches.
  struct parameter {
    const char* name;
    std::int64_t rows, columns, offset;
  };
  const parameter all[] = {{"a", 7, 9, 0}, {"b", 1, 50, 63}, {"c", 12, 12, 113}};
  constexpr std::int64_t total = 257;
  const auto program = [&](std::int32_t ranks, bool wrong) {
    return [=](session& s, std::int32_t rank) {
      s.mesh("dp", ranks, rank);
      const std::int64_t begin = total * rank / ranks, end = total * (rank + 1) / ranks;
      std::vector<double> buffer = reproduce::normal(total, 9);
      if (wrong) buffer[113 + 100] += 1;  // of c, on rank 3 of 4
      NUMDIFF_STEP(0);
      for (const parameter& p : all) {
        const segment held = overlap(p.offset, p.rows * p.columns, begin, end);
        const std::vector<double> own(buffer.begin() + p.offset + held.global_begin,
                                      buffer.begin() + p.offset + held.global_begin + held.length);
        const array piece(dtype::f32, {held.length}, own);
        NUMDIFF_OP(op, p.name, mystery, dtypes(dtype::f32, dtype::f32, dtype::f32));
        NUMDIFF_WEIGHT(op, "w", piece.seen().shard("dp", 0).flat({held}, {p.rows, p.columns}));
      }
    };
  };
  for (const level l : {level::stats, level::tensors}) {
    const recorded_run one(program(1, false), 1, l), three(program(3, false), 3, l),
        four(program(4, false), 4, l), off(program(4, true), 4, l);
    for (const recorded_run* other : {&three, &four}) {
      const auto c = compare(one.run(), other->run());
      INFO(told(c));
      CHECK(c.verdict == outcome::agree);
      CHECK(c.totals.equal == 3);
    }
    CHECK(compare(three.run(), four.run()).totals.equal == 3);
    const auto c = compare(three.run(), off.run());
    INFO(told(c));
    REQUIRE(c.first_divergence);
    CHECK(c.first_divergence->where.op == "c");
    CHECK(c.first_divergence->where.ranks == std::vector<std::int32_t>{3});
  }
}

TEST_CASE("terms of sums and averages over two axes add up to the whole; one that is missing does not") {
  // Four ranks: shares of a sum over tp, of which dp holds two versions whose mean is meant.
  const auto program = [](bool whole_here, bool wrong) {
    return [=](session& s, std::int32_t rank) {
      s.mesh("dp", whole_here ? 1 : 2, rank / 2);
      s.mesh("tp", whole_here ? 1 : 2, rank % 2);
      const std::vector<double> all = whole(), split = reproduce::normal(rows * columns, 21),
                                shift = reproduce::normal(rows * columns, 22);
      std::vector<double> own = all;
      for (std::size_t i = 0; i < own.size() && !whole_here; ++i) {
        const double version = all[i] + (rank / 2 == 0 ? shift[i] : -shift[i]);
        own[i] = rank % 2 == 0 ? split[i] : version - split[i];
        if (wrong && rank == 3) own[i] *= 1.01;
      }
      const array term(dtype::f64, {rows, columns}, own);
      NUMDIFF_STEP(0);
      NUMDIFF_OP(op, "use", mystery, dtypes(dtype::f64, dtype::f64, dtype::f64));
      NUMDIFF_INPUT(op, "x", term.seen().partial("dp", reduction::average).partial("tp", reduction::sum));
    };
  };
  for (const level l : {level::sketch, level::tensors}) {
    const recorded_run one(program(true, false), 1, l), four(program(false, false), 4, l),
        three(program(false, false), 3, l), wrong(program(false, true), 4, l);
    const auto c = compare(one.run(), four.run());
    INFO(told(c));
    CHECK(c.verdict == outcome::agree);
    CHECK(c.totals.within == 1);
    const auto missing = compare(one.run(), three.run());
    INFO(told(missing));
    CHECK(missing.verdict == outcome::incomplete);
    CHECK(missing.totals.not_comparable == 1);
    const auto off = compare(one.run(), wrong.run());
    INFO(told(off));
    CHECK(off.verdict == outcome::differ);
  }
}

#include "analysis/speed.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "analysis/lookup.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

// A product that takes less than three launches is bound by them. Roofline models of low-precision training
// count 2 us a launch; not measured here.
constexpr double launch_bound_seconds = 3 * 2e-6;
// A gain that timing does not tell from none.
constexpr double no_gain = 0.95;
// Tensor cores read rows of whole 16 bytes.
constexpr int row_bits = 128;

// Seconds that an op was told to take, of its slowest rank; NaN: not told.
double seconds_of(const judged_run& run, const logical_op& op) {
  double slowest = std::nan("");
  for (const logical_capture& c : run.index.captures_of(op)) {
    if (c.role != role::scalar || run.index.names().text(c.name) != "seconds") continue;
    for (const member& m : c.members) {
      const double s = scalar_of(run.index.capture_row_of(m));
      if (!(s <= slowest)) slowest = s;
    }
  }
  return slowest;
}

// Seconds of the casts, scales and layouts made for what an op reads; each counts once, for its first reader.
double preparation(const judged_run& run, const logical_op& op, std::set<std::uint32_t>& counted) {
  double sum = 0;
  for (std::uint32_t i = 0; i < op.captures; ++i) {
    const auto at = static_cast<std::int32_t>(op.first_capture + i);
    const logical_capture& c = run.index.captures()[static_cast<std::size_t>(at)];
    const link from = run.flow.of(at).from;
    if (c.written || from.from < 0 || from.origin < origin::moved) continue;
    const std::uint32_t writer = run.index.captures()[static_cast<std::size_t>(from.from)].op;
    const logical_op& made_by = run.index.ops()[writer];
    if (is_collective(run.index.kind_of(made_by)) ||
        !is_auxiliary(run.index.kind_of(made_by), made_by.phase) || !counted.insert(writer).second)
      continue;
    const double own = seconds_of(run, made_by);
    sum += (std::isnan(own) ? 0 : own) + preparation(run, made_by, counted);
  }
  return sum;
}

struct cost {
  double product = 0, casts = 0;
  [[nodiscard]] double all() const { return product + casts; }
};

// All executions of an op in all layers and steps.
struct product_times {
  place where;
  side low = side::test;
  cost narrow, wide;
  model::op_row row{};  // of the narrow run
  std::uint64_t order = 0, calls = 0;
};

bool fits_tensor_cores(const model::op_row& row) {
  const int bits = format_of(static_cast<dtype>(row.input_dtype)).bits;
  const std::int64_t whole = bits > 0 ? row_bits / bits : 1;
  const auto fits = [&](std::int64_t extent) { return extent < 0 || extent % whole == 0; };
  return fits(row.n) && fits(row.k);
}

// Casts grow with the square of the sizes, the product with the cube: by which factor all sizes must grow for
// the casts to pay. NaN: never.
double break_even(const product_times& t) {
  const double gain = t.wide.all() - t.narrow.product;
  return gain > 0 ? t.narrow.casts / gain : std::nan("");
}

finding told(const product_times& t) {
  const double calls = static_cast<double>(t.calls);
  const char* id = t.narrow.product < no_gain * t.wide.product       ? "ND851"
                   : !fits_tensor_cores(t.row)                       ? "ND852"
                   : t.narrow.product / calls < launch_bound_seconds ? "ND853"
                                                                     : "ND854";
  finding f = stated(id, t.where, t.order);
  f.seen_in = t.low;
  f.evidence = {{"seconds", t.narrow.all() / calls},
                {"seconds_product", t.narrow.product / calls},
                {"seconds_casts", t.narrow.casts / calls},
                {"seconds_other_run", t.wide.all() / calls},
                {"share_of_casts", t.narrow.all() > 0 ? t.narrow.casts / t.narrow.all() : 0},
                {"break_even_size_factor", break_even(t)},
                {"n", static_cast<double>(t.row.n)},
                {"k", static_cast<double>(t.row.k)},
                {"calls", calls}};
  return f;
}

}  // namespace

std::vector<finding> slow_products(const judged_run& reference, const judged_run& test,
                                   const std::vector<op_pair>& pairs) {
  std::map<std::tuple<std::string, std::uint32_t, phase>, product_times> all;
  std::set<std::uint32_t> counted_reference, counted_test;
  std::uint64_t order = 0;
  for (const op_pair& pair : pairs) {
    const std::uint64_t at = order++;
    if (pair.fate != fate::matched || !pair.selected) continue;
    const logical_op& r = op_of(reference, pair.reference);
    const logical_op& t = op_of(test, pair.test);
    const double r_seconds = seconds_of(reference, r), t_seconds = seconds_of(test, t);
    if (std::isnan(r_seconds) || std::isnan(t_seconds)) continue;
    const model::op_row& r_row = reference.index.op_row_of(r.members.front());
    const model::op_row& t_row = test.index.op_row_of(t.members.front());
    const int r_bits = format_of(static_cast<dtype>(r_row.input_dtype)).bits;
    const int t_bits = format_of(static_cast<dtype>(t_row.input_dtype)).bits;
    if (r_bits == t_bits || std::max(r_row.k, t_row.k) <= 0) continue;
    const cost of_reference = {r_seconds, preparation(reference, r, counted_reference)};
    const cost of_test = {t_seconds, preparation(test, t, counted_test)};
    const bool test_is_low = t_bits < r_bits;
    product_times& times = all[{general_name(test.index.names().text(t.scope)), t.name, t.phase}];
    if (times.calls++ == 0) {
      times.low = test_is_low ? side::test : side::reference;
      times.where = test_is_low ? test.index.place_of(t) : reference.index.place_of(r);
      times.row = test_is_low ? t_row : r_row;
      times.order = at;
    }
    const cost& low = test_is_low ? of_test : of_reference;
    const cost& high = test_is_low ? of_reference : of_test;
    times.narrow.product += low.product, times.narrow.casts += low.casts;
    times.wide.product += high.product, times.wide.casts += high.casts;
  }
  std::vector<finding> slow;
  for (const auto& [name, times] : all) {
    if (times.narrow.all() >= no_gain * times.wide.all()) slow.push_back(told(times));
  }
  return slow;
}

}  // namespace numdiff::analysis

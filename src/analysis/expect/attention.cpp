#include "analysis/expect/attention.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "analysis/expect/hidden.hpp"
#include "analysis/expect/judge.hpp"

namespace numdiff::analysis::expect {
namespace {

constexpr double most_multiply_adds = 0x1p27;

double square(double x) {
  return x * x;
}

}  // namespace

heads::heads(const call& c, std::size_t first, std::optional<std::size_t> mask)
    : q(&c.read(first)), k(&c.read(first + 1)), v(&c.read(first + 2)) {
  const accumulator& sum = c.sum();
  require(!sum.narrow() && sum.promotion == 0 && sum.split == 1,
          "attention that adds up in few bits or in parts is replayed by its parts");
  for (const auto& [name, value] : c.op().scalars)
    require(name == "scale" || name == "causal", "a scalar that attention's formula does not have");
  for (const operand& x : c.op().reads) require(!hides(x), "which elements are hidden is not told");
  for (const tensor* x : {q, k, v}) require(x->shape.size() >= 2, "attention of less than two dimensions");
  const auto from_end = [](const tensor& x, std::size_t i) {
    return static_cast<std::size_t>(x.shape[x.shape.size() - i]);
  };
  tokens = from_end(*q, 2);
  width = from_end(*q, 1);
  keys = from_end(*k, 2);
  value_width = from_end(*v, 1);
  require(tokens > 0 && width > 0 && keys > 0 && value_width > 0, "an empty attention");
  require(from_end(*k, 1) == width && from_end(*v, 2) == keys, "queries, keys and values do not fit");
  count = q->values.size() / (tokens * width);
  const std::size_t shared = k->values.size() / (keys * width);
  require(shared > 0 && count % shared == 0 && v->values.size() == shared * keys * value_width,
          "heads of queries, keys and values do not fit");
  group = count / shared;
  scale = c.scalar("scale", 1 / std::sqrt(static_cast<double>(width)));
  mask_told = mask || c.op().scalars.contains("causal");
  causal = c.scalar("causal", 0) != 0;
  std::vector<std::int64_t> scores(q->shape.begin(), q->shape.end() - 1);
  scores.push_back(static_cast<std::int64_t>(keys));
  scores_ = std::make_shared<const std::vector<std::int64_t>>(std::move(scores));
  if (mask) {
    const tensor& m = c.read(*mask);
    visible_ = is_integer(m.type) || m.type == dtype::boolean;
    mask_.emplace(m, *scores_);
  }
  input_floor = 4 * c.tiny();
  const grid held = grid_of(v->type);
  if (v->scales.empty() && held.unit() > sum.unit()) {
    input_unit = held.unit();
    input_floor = std::max(input_floor, held.smallest());
  }
}

double heads::added(std::size_t row, std::size_t j) const {
  constexpr double never = -std::numeric_limits<double>::infinity();
  if (causal && j + tokens > row % tokens + keys) return never;
  if (!mask_) return 0;
  const double m = (*mask_)[row * keys + j];
  return visible_ ? (m != 0 ? 0 : never) : m;
}

template <class R>
void attention_row<R>::compute(const call& c, const heads& h, std::size_t row) {
  const std::size_t n = h.keys;
  p.assign(n, 0);
  relative.assign(n, 0);
  top = -std::numeric_limits<R>::infinity();
  poisoned = false;
  const double *q = h.query(row), length = static_cast<double>(h.width), *k = nullptr;
  for (std::size_t j = 0; j < n; ++j) {
    const double added = h.added(row, j);
    if (added == -std::numeric_limits<double>::infinity()) {
      p[j] = -std::numeric_limits<R>::infinity();
      continue;
    }
    k = h.key(row, j);
    R dot = 0;
    double squares = 0;
    for (std::size_t i = 0; i < h.width; ++i) {
      dot += static_cast<R>(q[i]) * static_cast<R>(k[i]);
      squares += square(q[i] * k[i]);
    }
    p[j] = c.step(1, static_cast<R>(h.scale) * dot + static_cast<R>(added));
    poisoned = poisoned || std::isnan(p[j]) || p[j] == std::numeric_limits<R>::infinity();
    top = std::max(top, p[j]);
    relative[j] = square(h.scale) * variance_of_sum(c.rho(), length, squares, static_cast<double>(dot)) +
                  square(c.rho()) * (square(h.scale * static_cast<double>(dot)) + square(added));
  }
  masked = !poisoned && std::isinf(top);
  total = 0;
  if (masked || poisoned) return;
  double squares = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const auto z = static_cast<double>(p[j]), t = static_cast<double>(top);
    p[j] = c.step(2, std::exp(p[j] - top));
    total += p[j];
    squares += square(static_cast<double>(p[j]));
    if (p[j] > 0) relative[j] += square(c.rho()) * (4 + square(z) + square(z - t) + square(t));
  }
  for (R& x : p) x /= total;
  const auto sum = static_cast<double>(total);
  sum_variance = variance_of_sum(c.rho(), static_cast<double>(n), squares / square(sum), 1);
}

template struct attention_row<double>;
template struct attention_row<long double>;

void doubt_mask(expectation& e) {
  e.review = [before = std::move(e.review)](const expectation& honest, judgement& j) {
    if (before) before(honest, j);
    if (j.v != verdict::beyond || !j.cause_hint.empty() || j.nonfinite_created > 0) return;
    j.v = verdict::undecided;
    j.reason = "no mask is told, and neither none nor a causal one explains it";
  };
}

expectations nearer(const call& c, expectations without, expectations with) {
  constexpr double most = 100;  // where no error is expected
  // Elements in units of their honest errors, the far ones by their logarithm: few may decide.
  const auto apart = [&](const expectations& all) {
    double sum = 0;
    for (std::size_t w = 0; w < all.size() && w < c.writes(); ++w) {
      const expectation& e = all[w];
      const std::vector<double>& stored = c.write(w).values;
      require(e.exact.size() == stored.size(), "an output of another shape than its inputs imply");
      const output_format format = output_format_of(c.op(), c.op().writes[w]);
      for (std::size_t i = 0; i < (e.judged.empty() ? stored.size() : e.judged.size()); ++i) {
        const std::size_t at = e.judged.empty() ? i : static_cast<std::size_t>(e.judged[i]);
        const double d = stored[at] - e.exact[at], honest = e.variance[at] + format.variance(e.exact[at], at);
        if (std::isfinite(d) && d != 0) sum += honest > 0 ? std::log1p(square(d) / honest) : most;
      }
    }
    return sum;
  };
  return apart(with) < apart(without) ? std::move(with) : std::move(without);
}

namespace {

// Evenly spread rows that cost as much, and those with results that are not finite; empty: all.
std::vector<std::size_t> rows_to_replay(const call& c, const heads& h) {
  const double each = static_cast<double>(h.keys) * static_cast<double>(h.width + h.value_width);
  std::vector<std::size_t> rows;
  if (each * static_cast<double>(h.rows()) <= most_multiply_adds) return rows;
  const auto wanted = static_cast<std::size_t>(std::max(1.0, most_multiply_adds / each));
  for (std::size_t i = 0; i < wanted; ++i) rows.push_back(i * h.rows() / wanted);
  std::size_t damaged = 0;
  for (std::size_t row = 0; row < h.rows() && damaged < 16; ++row) {
    const double* y = c.write(0).values.data() + row * h.value_width;
    if (std::all_of(y, y + h.value_width, [](double x) { return std::isfinite(x); })) continue;
    rows.push_back(row);
    ++damaged;
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// The probabilities times the values, with what the errors of both make of it.
template <class R>
void combine(const call& c, const heads& h, const attention_row<R>& a, std::size_t row, expectation& e) {
  const std::size_t width = h.value_width;
  const double n = static_cast<double>(h.keys);
  std::vector<R> y(width, 0);
  std::vector<double> squares(width, 0), moved(width, 0), spread(width, 0), floor(width, 0);
  double all = 0;
  for (std::size_t j = 0; j < h.keys; ++j) {
    if (!(a.p[j] > 0)) continue;
    const auto p = static_cast<double>(a.p[j]);
    const double weight = square(p) * a.relative[j], *v = h.value(row, j);
    all += weight;
    for (std::size_t i = 0; i < width; ++i) {
      y[i] += a.p[j] * static_cast<R>(v[i]);
      squares[i] += square(p * v[i]);
      moved[i] += weight * v[i];
      spread[i] += weight * square(v[i]);
      floor[i] += square(v[i]);
    }
  }
  for (std::size_t i = 0; i < width; ++i) {
    const auto v = static_cast<double>(y[i]);
    // sum of p^2 (v - y)^2 times the variance of each
    const double arguments = std::max(0.0, spread[i] - 2 * v * moved[i] + square(v) * all);
    e.set(row * width + i, y[i],
          arguments + square(v) * (a.sum_variance + 2 * square(c.rho())) +
              variance_of_sum(c.rho(), n, squares[i], v) + square(rho_factor * h.input_unit) * squares[i] +
              square(h.input_floor) / 12 * floor[i]);
  }
}

template <class R>
expectations replay_rows(const call& c, const heads& h) {
  const std::vector<std::size_t> rows = rows_to_replay(c, h);
  const std::size_t count = rows.empty() ? h.rows() : rows.size(), width = h.value_width;
  expectations e(c.writes() > 1 ? 2 : 1);
  e[0].resize(h.rows() * width, c.wide());
  if (e.size() > 1) e[1].resize(h.rows(), c.wide());
  attention_row<R> a;
  std::int64_t undefined_rows = 0;
  double fill = 0;
  for (std::size_t q = 0; q < count; ++q) {
    const std::size_t row = rows.empty() ? q : rows[q];
    a.compute(c, h, row);
    const bool undefined = a.masked || a.poisoned;
    if (undefined) {
      if (const double stored = c.write(0).values[row * width]; a.masked && std::isfinite(stored)) {
        ++undefined_rows;
        fill = stored;
      }
      for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
        e[0].set(i, std::numeric_limits<R>::quiet_NaN(), 0);
        e[0].mark(i, a.masked ? defect::masked_row : defect::inherited);
      }
    } else {
      combine(c, h, a, row, e[0]);
    }
    for (std::size_t i = row * width; i < (row + 1) * width && !rows.empty(); ++i)
      e[0].judged.push_back(static_cast<std::int64_t>(i));
    if (e.size() == 1) continue;
    if (!rows.empty()) e[1].judged.push_back(static_cast<std::int64_t>(row));
    if (undefined) {
      e[1].set(row, a.masked ? a.top : std::numeric_limits<R>::quiet_NaN(), 0);
      e[1].mark(row, a.masked ? defect::masked_row : defect::inherited);
      continue;
    }
    double arguments = 0;
    for (std::size_t j = 0; j < h.keys; ++j) arguments += square(static_cast<double>(a.p[j])) * a.relative[j];
    const R log = std::log(a.total), v = a.top + log;
    e[1].set(row, v,
             arguments + a.sum_variance +
                 square(c.rho()) * (square(static_cast<double>(log)) + square(static_cast<double>(v))));
  }
  if (undefined_rows > 0) {
    e[0].review = [undefined_rows, fill](const expectation&, judgement& j) {
      j.evidence.emplace_back("undefined_rows", static_cast<double>(undefined_rows));
      j.evidence.emplace_back("undefined_fill", fill);
    };
  }
  return e;
}

}  // namespace

// Sums inside run in the kernel's own order over blocks, rescaled at each: 3 as for regions.
expectations attention(const call& c) {
  require(!c.reads(5), "a read that attention's formula does not have");
  const std::optional<std::size_t> mask = c.reads(4) ? std::optional<std::size_t>(3) : std::nullopt;
  const heads h(c, 0, mask);
  require(c.write(0).values.size() == h.rows() * h.value_width,
          "an output of another shape than its inputs imply");
  const auto replayed = [&](const heads& how) {
    return in_precision_of(c, [&]<class R>() { return replay_rows<R>(c, how); });
  };
  expectations e = replayed(h);
  heads seen = h;
  if (!h.mask_told && h.tokens > 1) {
    seen.causal = true;
    e = nearer(c, std::move(e), replayed(seen));
  }
  for (expectation& one : e) {
    one.internal_limit = 3;
    if (!h.mask_told) doubt_mask(one);
  }
  for (const bool causal : {false, true}) {
    if (h.scale == 1 || (h.mask_told && causal != h.causal)) continue;
    heads other = h;
    other.causal = causal;
    other.scale = 1;
    e[0].hypotheses.push_back(
        {"factor-missing", "the scale was not applied",
         [other, &c](const expectation&) { return replay_rows<double>(c, other)[0].exact; }});
  }
  return e;
}

}  // namespace numdiff::analysis::expect

#include "analysis/expect/matmul.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "analysis/expect/forensics.hpp"
#include "analysis/expect/stagnation.hpp"

namespace numdiff::analysis::expect {
namespace {

using matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using matrix_map = Eigen::Map<const matrix>;

// Multiply-adds up to which everything is replayed: about 0.1 s each on one core.
constexpr double full_by_matrices = 0x1p28;
constexpr double full_by_long_sums = 0x1p25;
constexpr double full_by_chains = 0x1p23;
constexpr double full_by_other_sums = 0x1p21;  // of which there are several

double square(double x) {
  return x * x;
}

// Subnormal factors keep their format's smallest exponent in an aligning unit, whether it sees codes or
// scaled values.
double least_magnitude(const tensor& t) {
  const double top = t.scales.empty() ? 1 : *std::max_element(t.scales.begin(), t.scales.end());
  return std::ldexp(1.0, grid_of(t.type).min_exponent) * std::max(1.0, top);
}

// Of inputs that are rounded on their way, which a declaration says and the stored factors do not show.
void allow_input_rounding(const product& p, expectation& e, std::size_t at, double squares, double sizes) {
  e.variance[at] += 2 * square(rho_factor * p.input_unit * p.alpha) * squares;
  e.allow(at, (e.bound.empty() ? 0 : e.bound[at]) + 2 * p.input_unit * std::fabs(p.alpha) * sizes);
}

template <class R>
void by_chains(const call& c, const product& p, const std::vector<std::size_t>& rows, expectation& e) {
  const std::size_t count = rows.empty() ? p.rows() : rows.size();
  const bool aligns = c.sum().alignment > 0;
  const double least_a = least_magnitude(*p.a), least_b = least_magnitude(*p.b);
  std::vector<chain<R>> sums;
  std::vector<double> squares(p.n), sizes(p.n);
  for (std::size_t q = 0; q < count; ++q) {
    const std::size_t row = rows.empty() ? q : rows[q];
    const double* a = p.left(row / p.m) + row % p.m * p.k;
    const double* b = p.right(row / p.m);
    sums.assign(p.n, chain<R>(c.sum(), static_cast<std::int64_t>(p.k)));
    std::fill(squares.begin(), squares.end(), 0.0);
    std::fill(sizes.begin(), sizes.end(), 0.0);
    for (std::size_t k = 0; k < p.k; ++k) {
      const R left = static_cast<R>(a[k]);
      for (std::size_t j = 0; j < p.n; ++j) {
        const double right = b[k * p.n + j];
        const double seen = aligns && a[k] != 0 && right != 0
                                ? std::max(std::fabs(a[k]), least_a) * std::max(std::fabs(right), least_b)
                                : 0;
        sums[j].add(left * static_cast<R>(right), seen);
        if (p.input_unit > 0) {
          squares[j] += square(a[k] * right);
          sizes[j] += std::fabs(a[k] * right);
        }
      }
    }
    for (std::size_t j = 0; j < p.n; ++j) {
      chain<R>& s = sums[j];
      s.finish();
      const std::size_t at = row * p.n + j;
      const R v = c.step(2, static_cast<R>(p.alpha) * c.step(1, s.value())) + static_cast<R>(p.added(at));
      const double extra = p.alpha != 1 || p.addend != nullptr
                               ? 2 * square(c.rho() * static_cast<double>(v)) +
                                     square(c.rho() * p.alpha * static_cast<double>(s.value()))
                               : 0;
      e.set(at, v, square(p.alpha) * s.variance() + extra);
      const double one_sided = std::fabs(p.alpha) * s.bound();
      if (one_sided > 0)
        e.allow(at, one_sided + (extra > 0 ? c.unit() * std::fabs(static_cast<double>(v)) : 0));
      if (p.input_unit > 0) allow_input_rounding(p, e, at, squares[j], sizes[j]);
      if (s.overflowed()) e.mark(at, defect::accumulator_overflow);
      if (!rows.empty()) e.judged.push_back(static_cast<std::int64_t>(at));
    }
  }
}

// How much larger than their mean over random orders the squares of the partial sums are, at most, on
// some elements: sums of a tensor's columns behave alike.
double prefix_excess(const call& c, const product& p) {
  double excess = 1;
  const std::size_t total = p.rows() * p.n, step = std::max<std::size_t>(1, total / 48) | 1;
  for (std::size_t at = 0; at < total; at += step) {
    const std::size_t row = at / p.n, j = at % p.n;
    const double* a = p.left(row / p.m) + row % p.m * p.k;
    const double* b = p.right(row / p.m) + j;
    chain<double> s(c.sum(), static_cast<std::int64_t>(p.k));
    double squares = 0;
    for (std::size_t k = 0; k < p.k; ++k) {
      s.add(a[k] * b[k * p.n]);
      squares += square(a[k] * b[k * p.n]);
    }
    s.finish();
    const double n = static_cast<double>(p.k);
    const double closed = square(c.rho()) * ((n / 6 + 1) * squares + (n / 3 + 1) * square(s.value()));
    if (closed > 0 && std::isfinite(s.variance())) excess = std::max(excess, s.variance() / closed);
  }
  return excess;
}

// From a sum and the sum of the squares of its addends, where the accumulator is wide: the errors by their
// mean over random orders, times how much the tensor's own order exceeds it.
class closed_form {
 public:
  closed_form(const call& c, const product& p)
      : c_(c), p_(p), n_(static_cast<double>(p.k)), factor_(square(c.rho()) * prefix_excess(c, p)) {}
  template <class R>
  void fill(expectation& e, std::size_t at, R sum, double squares) const {
    const R v = c_.step(2, static_cast<R>(p_.alpha) * c_.step(1, sum)) + static_cast<R>(p_.added(at));
    const auto size = static_cast<double>(v), inner_size = static_cast<double>(sum);
    const double extra = p_.alpha != 1 || p_.addend != nullptr
                             ? square(c_.rho()) * (2 * square(size) + square(p_.alpha * inner_size))
                             : 0;
    const double sums = (n_ / 6 + 1) * squares + (n_ / 3 + 1) * square(inner_size);
    // The replay's own sum, when it is in double.
    const double own = std::is_same_v<R, double> ? square(0x1p-54) : 0;
    e.set(at, v, square(p_.alpha) * (factor_ + own) * sums + extra);
  }

 private:
  const call& c_;
  const product& p_;
  double n_, factor_;
};

void by_long_sums(const call& c, const product& p, const std::vector<std::size_t>& rows, expectation& e) {
  const closed_form form(c, p);
  const std::size_t count = rows.empty() ? p.rows() : rows.size();
  std::vector<long double> sums(p.n);
  std::vector<double> squares(p.n), sizes(p.n);
  for (std::size_t q = 0; q < count; ++q) {
    const std::size_t row = rows.empty() ? q : rows[q];
    const double* a = p.left(row / p.m) + row % p.m * p.k;
    const double* b = p.right(row / p.m);
    std::fill(sums.begin(), sums.end(), 0.0L);
    std::fill(squares.begin(), squares.end(), 0.0);
    std::fill(sizes.begin(), sizes.end(), 0.0);
    for (std::size_t k = 0; k < p.k; ++k) {
      for (std::size_t j = 0; j < p.n; ++j) {
        sums[j] += static_cast<long double>(a[k]) * static_cast<long double>(b[k * p.n + j]);
        squares[j] += square(a[k] * b[k * p.n + j]);
        sizes[j] += std::fabs(a[k] * b[k * p.n + j]);
      }
    }
    for (std::size_t j = 0; j < p.n; ++j) {
      form.fill(e, row * p.n + j, sums[j], squares[j]);
      if (p.input_unit > 0) allow_input_rounding(p, e, row * p.n + j, squares[j], sizes[j]);
      if (!rows.empty()) e.judged.push_back(static_cast<std::int64_t>(row * p.n + j));
    }
  }
}

void by_matrices(const call& c, const product& p, const std::vector<std::size_t>& rows, expectation& e) {
  const closed_form form(c, p);
  const auto rows_of = [&](std::size_t batch, const matrix& a, const auto& position) {
    const matrix_map b(p.right(batch), static_cast<Eigen::Index>(p.k), static_cast<Eigen::Index>(p.n));
    const matrix sums = a * b, squares = a.cwiseAbs2() * b.cwiseAbs2();
    const matrix sizes = p.input_unit > 0 ? matrix(a.cwiseAbs() * b.cwiseAbs()) : matrix();
    for (Eigen::Index i = 0; i < sums.rows(); ++i) {
      for (Eigen::Index j = 0; j < sums.cols(); ++j) {
        const std::size_t at = position(i) * p.n + static_cast<std::size_t>(j);
        form.fill(e, at, sums(i, j), squares(i, j));
        if (p.input_unit > 0) allow_input_rounding(p, e, at, squares(i, j), sizes(i, j));
      }
    }
  };
  const auto k = static_cast<Eigen::Index>(p.k);
  if (rows.empty()) {
    for (std::size_t batch = 0; batch < p.batches; ++batch) {
      rows_of(batch, matrix_map(p.left(batch), static_cast<Eigen::Index>(p.m), k),
              [&](Eigen::Index i) { return batch * p.m + static_cast<std::size_t>(i); });
    }
    return;
  }
  for (std::size_t first = 0; first < rows.size();) {
    const std::size_t batch = rows[first] / p.m;
    std::size_t end = first;
    while (end < rows.size() && rows[end] / p.m == batch) ++end;
    matrix a(static_cast<Eigen::Index>(end - first), k);
    for (std::size_t q = first; q < end; ++q) {
      a.row(static_cast<Eigen::Index>(q - first)) =
          Eigen::Map<const Eigen::RowVectorXd>(p.left(batch) + rows[q] % p.m * p.k, k);
    }
    rows_of(batch, a, [&](Eigen::Index i) { return rows[first + static_cast<std::size_t>(i)]; });
    first = end;
  }
  for (const std::size_t row : rows) {
    for (std::size_t j = 0; j < p.n; ++j) e.judged.push_back(static_cast<std::int64_t>(row * p.n + j));
  }
}

}  // namespace

product::product(const call& from) : a(&from.read(0)), b(&from.read(1)), c(&from.write(0)) {
  require(a->shape.size() >= 2 && b->shape.size() >= 2, "a product of less than two dimensions");
  alpha = from.scalar("alpha", 1);
  m = static_cast<std::size_t>(a->shape[a->shape.size() - 2]);
  k = static_cast<std::size_t>(a->shape.back());
  n = static_cast<std::size_t>(b->shape.back());
  require(static_cast<std::size_t>(b->shape[b->shape.size() - 2]) == k, "factors that do not fit each other");
  require(m > 0 && n > 0 && k > 0, "an empty product");
  require(c->values.size() % (m * n) == 0, "an output of another shape than the factors imply");
  batches = c->values.size() / (m * n);
  a_batches = a->values.size() / (m * k);
  b_batches = b->values.size() / (k * n);
  require(batches > 0 && batches % a_batches == 0 && batches % b_batches == 0,
          "batches that do not broadcast");
  const dtype inputs = declared_inputs(from);
  if (inputs != dtype::unknown) input_unit = grid_of(inputs).unit();
  if (from.reads(3)) {
    addend = &from.read(2);
    addend_period = addend->values.size();
    require(addend_period > 0 && c->values.size() % addend_period == 0, "an addend that does not broadcast");
  }
}

dtype declared_inputs(const call& c) {
  const model::op_row& row = *c.op().row;
  const auto first = static_cast<dtype>(row.input_dtype), second = static_cast<dtype>(row.input2_dtype);
  if (first == dtype::unknown || is_integer(first) || (second != first && second != dtype::unknown))
    return dtype::unknown;
  const int held = std::max(grid_of(c.read(0).type).precision, grid_of(c.read(1).type).precision);
  return grid_of(first).precision < held ? first : dtype::unknown;
}

std::vector<std::size_t> sampled_rows(const product& p, double multiply_adds) {
  const double each = static_cast<double>(p.k) * static_cast<double>(p.n);
  const double all = each * static_cast<double>(p.rows());
  std::vector<std::size_t> rows;
  if (all <= multiply_adds) return rows;
  const auto wanted = static_cast<std::size_t>(std::max(1.0, multiply_adds / each));
  for (std::size_t q = 0; q < wanted; ++q) rows.push_back(q * p.rows() / wanted);
  std::size_t damaged = 0;
  for (std::size_t row = 0; row < p.rows() && damaged < 16; ++row) {
    const auto* begin = p.c->values.data() + row * p.n;
    if (std::any_of(begin, begin + p.n, [](double x) { return !std::isfinite(x); })) {
      rows.push_back(row);
      ++damaged;
    }
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

namespace {

// A result whose only non-finite terms have a factor of zero: the other factor stands at a masked place, and
// a kernel that skips it computes the rest.
void leave_out_masked(const call& c, const product& p, expectation& e) {
  const std::size_t count = e.judged.empty() ? e.exact.size() : e.judged.size();
  std::vector<std::int64_t> masked;
  for (std::size_t q = 0; q < count; ++q) {
    const std::size_t at = e.judged.empty() ? q : static_cast<std::size_t>(e.judged[q]);
    if (std::isfinite(e.exact[at])) continue;
    const std::size_t row = at / p.n;
    const double *a = p.left(row / p.m) + row % p.m * p.k, *b = p.right(row / p.m) + at % p.n;
    chain<double> rest(c.sum(), static_cast<std::int64_t>(p.k));
    bool masks = std::isfinite(p.added(at)) && std::isfinite(p.alpha);
    for (std::size_t k = 0; k < p.k && masks; ++k) {
      const double x = a[k], y = b[k * p.n];
      if (std::isfinite(x) && std::isfinite(y))
        rest.add(x * y);
      else
        masks = x == 0 || y == 0;
    }
    rest.finish();
    if (!masks || !std::isfinite(rest.value())) continue;
    const double v = p.alpha * rest.value() + p.added(at);
    e.set(at, static_cast<long double>(v), square(p.alpha) * rest.variance() + 2 * square(c.rho() * v));
    if (rest.bound() > 0) e.allow(at, std::fabs(p.alpha) * rest.bound());
    e.mark(at, defect::masked_value);
    masked.push_back(static_cast<std::int64_t>(at));
  }
  if (masked.empty()) return;
  e.review = [masked, &c](const expectation&, judgement& j) {
    const std::vector<double>& y = c.write(0).values;
    const auto skipped = std::count_if(masked.begin(), masked.end(), [&](std::int64_t at) {
      return std::isfinite(y[static_cast<std::size_t>(at)]);
    });
    j.evidence.emplace_back("masked_values_met",
                            static_cast<double>(masked.size()) - static_cast<double>(skipped));
    j.evidence.emplace_back("masked_values_skipped", static_cast<double>(skipped));
  };
}

}  // namespace

expectations matmul(const call& c) {
  const product p(c);
  expectations e(1);
  e[0].resize(p.c->values.size(), c.wide());
  const bool follows = c.sum().fault != nullptr;
  const bool chains = follows || c.sum().narrow() || c.sum().promotion > 0 || c.sum().split > 1;
  const double most = follows    ? full_by_other_sums
                      : chains   ? full_by_chains
                      : c.wide() ? full_by_long_sums
                                 : full_by_matrices;
  const std::vector<std::size_t> rows = sampled_rows(p, most);
  if (chains && c.wide())
    by_chains<long double>(c, p, rows, e[0]);
  else if (chains)
    by_chains<double>(c, p, rows, e[0]);
  else if (c.wide())
    by_long_sums(c, p, rows, e[0]);
  else
    by_matrices(c, p, rows, e[0]);
  if (follows) return e;
  if (!rows.empty()) {
    const probe_result probed = probe(c, p);
    e[0].probe_ratio = probed.ratio;
    e[0].probe_limit = probed.limit;
    e[0].probe_row = probed.row;
  }
  leave_out_masked(c, p, e[0]);
  e[0].hypotheses = product_hypotheses(c, p);
  e[0].review = [&c, p, masked = e[0].review](const expectation& honest, judgement& j) {
    if (masked) masked(honest, j);
    name_accumulator(c, p, honest, j);
    review_stagnation(c, p, honest, j);
  };
  e[0].know_factor("alpha", p.alpha);
  if (p.alpha != 1 && p.addend == nullptr) {
    // Stored before it is scaled, the product may leave the output's range.
    const double largest = grid_of(p.c->type).maximum;
    for (std::size_t i = 0; i < e[0].exact.size() && p.c->scales.empty(); ++i) {
      if (std::fabs(e[0].exact[i] / p.alpha) > largest) e[0].mark(i, defect::inner_overflow);
    }
  }
  return e;
}

}  // namespace numdiff::analysis::expect

// The gradient of attention: dv = P^T dy, dS = P (dy v^T - D), dq = scale dS k, dk = scale dS^T q, where D is
// the sum of P dy v^T over each row, or of dy y where the op reads y (Dao et al., 2022).
#include <algorithm>
#include <limits>
#include <string_view>

#include "analysis/expect/attention.hpp"
#include "analysis/expect/judge.hpp"

namespace numdiff::analysis::expect {
namespace {

constexpr double most_multiply_adds = 0x1p28;

double square(double x) {
  return x * x;
}

struct optional_reads {
  std::optional<std::size_t> mask, y;
};

optional_reads optional_reads_of(const call& c) {
  optional_reads found;
  for (std::size_t i = 4; i < c.op().reads.size(); ++i) {
    const std::string_view name = c.op().reads[i].name;
    require(name == "mask" || name == "y" || name == "lse",
            "a read that is not the mask, y or lse of attention's gradient");
    if (name == "mask") found.mask = i;
    if (name == "y") found.y = i;
  }
  return found;
}

// Sums over many rows, with the variance of their errors: what moves each addend, and the squared addends.
template <class R>
struct sums {
  std::vector<R> value;
  std::vector<double> variance, squares;

  explicit sums(std::size_t n) : value(n, 0), variance(n, 0), squares(n, 0) {}
  void add(std::size_t i, R x, double y, double moved) {
    const R addend = x * static_cast<R>(y);
    value[i] += addend;
    squares[i] += square(static_cast<double>(addend));
    variance[i] += moved * square(y);
  }
  // The sums times `factor`, each of n addends.
  void finish(const call& c, double n, double factor, expectation& e) const {
    e.resize(value.size(), c.wide());
    for (std::size_t i = 0; i < value.size(); ++i) {
      const R v = static_cast<R>(factor) * value[i];
      e.set(i, v,
            square(factor) *
                    (variance[i] + variance_of_sum(c.rho(), n, squares[i], static_cast<double>(value[i]))) +
                square(c.rho() * static_cast<double>(v)));
    }
  }
};

template <class R>
class gradient {
 public:
  gradient(const call& c, const heads& h, const optional_reads& also)
      : c_(c),
        h_(h),
        dy_(c.read(0)),
        y_(also.y ? &c.read(*also.y) : nullptr),
        dq_(h.q->values.size()),
        dk_(h.k->values.size()),
        dv_(h.v->values.size()),
        dp_(h.keys),
        dp_variance_(h.keys) {
    require(dy_.values.size() == h.rows() * h.value_width, "dy and the queries do not fit");
    require(y_ == nullptr || y_->values.size() == dy_.values.size(), "y and dy do not fit");
  }
  expectations run() {
    for (std::size_t row = 0; row < h_.rows(); ++row) {
      a_.compute(c_, h_, row);
      if (a_.masked) continue;
      if (a_.poisoned) throw cannot_replay("scores that are not finite");
      add(row);
    }
    const double keys = static_cast<double>(h_.keys), rows = static_cast<double>(h_.tokens * h_.group);
    expectations e(3);
    dq_.finish(c_, keys, h_.scale, e[0]);
    dk_.finish(c_, rows, h_.scale, e[1]);
    dv_.finish(c_, rows, 1, e[2]);
    return e;
  }

 private:
  const double* dy(std::size_t row) const { return dy_.values.data() + row * h_.value_width; }

  // dp and the mean that is taken from it, with its variance.
  std::pair<R, double> mean_of(std::size_t row) {
    const std::size_t width = h_.value_width;
    const double* from = dy(row);
    R mean = 0;
    double squares = 0, variance = 0;
    for (std::size_t j = 0; j < h_.keys; ++j) {
      if (!(a_.p[j] > 0)) continue;
      const double* v = h_.value(row, j);
      R dot = 0;
      double sizes = 0;
      for (std::size_t i = 0; i < width; ++i) {
        dot += static_cast<R>(from[i]) * static_cast<R>(v[i]);
        sizes += square(from[i] * v[i]);
      }
      dp_[j] = c_.step(3, dot);
      dp_variance_[j] =
          variance_of_sum(c_.rho(), static_cast<double>(width), sizes, static_cast<double>(dot));
      const double term = static_cast<double>(a_.p[j] * dp_[j]);
      mean += a_.p[j] * dp_[j];
      squares += square(term);
      variance += square(term) * a_.relative[j] + square(static_cast<double>(a_.p[j])) * dp_variance_[j];
    }
    variance += variance_of_sum(c_.rho(), static_cast<double>(h_.keys), squares, static_cast<double>(mean));
    if (y_ == nullptr) return {mean, variance};
    // From y as it was stored, or from the probabilities all the same: apart by the rounding of y, at random
    // at worst.
    const double* y = y_->values.data() + row * width;
    const grid stored = grid_of(y_->type);
    R from_y = 0;
    double sizes = 0;
    for (std::size_t i = 0; i < width; ++i) {
      from_y += static_cast<R>(from[i]) * static_cast<R>(y[i]);
      sizes += square(from[i] * y[i]);
      variance += square(from[i] * stored.ulp(y[i])) / 6;
    }
    variance += variance_of_sum(c_.rho(), static_cast<double>(width), sizes, static_cast<double>(from_y));
    return {from_y, variance};
  }

  void add(std::size_t row) {
    const auto [mean, mean_variance] = mean_of(row);
    const std::size_t head = h_.head_of(row), width = h_.width, values = h_.value_width;
    const double unit = square(rho_factor * h_.input_unit), floor = square(h_.input_floor) / 12;
    std::vector<double> carried(width, 0);  // what an error of the mean makes of dq
    std::vector<double> total(width, 0);    // what an error of the row's sum makes of it
    const double *q = h_.query(row), *from = dy(row);
    for (std::size_t j = 0; j < h_.keys; ++j) {
      if (!(a_.p[j] > 0)) continue;
      const R p = c_.step(2, a_.p[j]), ds = p * (dp_[j] - mean);
      const double weight = square(static_cast<double>(p)), change = static_cast<double>(ds);
      const double own = square(change) * (a_.relative[j] + unit + 3 * square(c_.rho())) +
                         floor * (1 + square(static_cast<double>(dp_[j] - mean))) + weight * dp_variance_[j],
                   shared = weight * mean_variance + square(change) * a_.sum_variance,
                   of_p = weight * (a_.relative[j] + unit + a_.sum_variance) + floor;
      const double* k = h_.key(row, j);
      for (std::size_t i = 0; i < width; ++i) {
        dq_.add(row * width + i, ds, k[i], own);
        carried[i] += static_cast<double>(p) * k[i];
        total[i] += change * k[i];
        dk_.add((head * h_.keys + j) * width + i, ds, q[i], own + shared);
      }
      for (std::size_t i = 0; i < values; ++i) dv_.add((head * h_.keys + j) * values + i, p, from[i], of_p);
    }
    for (std::size_t i = 0; i < width; ++i)
      dq_.variance[row * width + i] +=
          mean_variance * square(carried[i]) + a_.sum_variance * square(total[i]);
  }

  const call& c_;
  const heads& h_;
  const tensor& dy_;
  const tensor* y_;
  attention_row<R> a_;
  sums<R> dq_, dk_, dv_;
  std::vector<R> dp_;
  std::vector<double> dp_variance_;
};

}  // namespace

expectations attention_gradient(const call& c) {
  const optional_reads also = optional_reads_of(c);
  const heads h(c, 1, also.mask);
  require(2.0 * static_cast<double>(h.rows() * h.keys) * static_cast<double>(h.width + h.value_width) <=
              most_multiply_adds,
          "attention's gradient is too large to replay whole");
  const auto replayed = [&](const heads& how) {
    return in_precision_of(c, [&]<class R>() { return gradient<R>(c, how, also).run(); });
  };
  expectations e = replayed(h);
  if (!h.mask_told && h.tokens > 1) {
    heads seen = h;
    seen.causal = true;
    e = nearer(c, std::move(e), replayed(seen));
  }
  for (expectation& one : e) {
    one.internal_limit = 3;
    if (!h.mask_told) doubt_mask(one);
  }
  e[0].know_factor("the scale", h.scale);
  e[1].know_factor("the scale", h.scale);
  return e;
}

}  // namespace numdiff::analysis::expect

// Random projections of a product that is too large to replay whole (Freivalds, 1979).
#include <algorithm>
#include <cmath>

#include "analysis/expect/judge.hpp"
#include "analysis/expect/matmul.hpp"

namespace numdiff::analysis::expect {
namespace {

constexpr int probes = 4;

double sign_of(std::size_t column, int probe) {
  std::uint64_t x =
      static_cast<std::uint64_t>(column) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(probe) + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return ((x >> 32) & 1) != 0 ? 1.0 : -1.0;
}

}  // namespace

probe_result probe(const call& c, const product& p) {
  probe_result result;
  // Few bits: the errors of a row may be coherent, so its projection has no useful bound.
  const accumulator& sum = c.sum();
  if (c.wide() || sum.narrow() || sum.partials.precision < sum.wide.precision || p.input_unit > 0)
    return result;
  const output_format out = output_format_of(c.op(), c.op().writes[0]);
  const double n = static_cast<double>(p.k), rho_sq = c.rho() * c.rho();
  const double reach = reach_of(p.rows() * probes);
  double error_sq = 0, rounding_sum = 0, internal_sum = 0, var_sq = 0;
  std::vector<double> br(p.k * probes), energy(p.k);
  for (std::size_t batch = 0; batch < p.batches; ++batch) {
    const double *a = p.left(batch), *b = p.right(batch);
    std::fill(br.begin(), br.end(), 0.0);
    for (std::size_t k = 0; k < p.k; ++k) {
      energy[k] = 0;
      for (std::size_t j = 0; j < p.n; ++j) {
        const double x = b[k * p.n + j];
        energy[k] += x * x;
        for (int q = 0; q < probes; ++q) br[k * probes + static_cast<std::size_t>(q)] += sign_of(j, q) * x;
      }
    }
    for (std::size_t i = 0; i < p.m; ++i) {
      double exact[probes] = {}, stored[probes] = {}, squares = 0, rounding_var = 0, size = 0;
      for (std::size_t k = 0; k < p.k; ++k) {
        const double x = a[i * p.k + k];
        squares += x * x * energy[k];
        for (int q = 0; q < probes; ++q) exact[q] += x * br[k * probes + static_cast<std::size_t>(q)];
      }
      bool finite = true;
      for (std::size_t j = 0; j < p.n; ++j) {
        const std::size_t at = (batch * p.m + i) * p.n + j;
        const double y = p.c->values[at];
        finite = finite && std::isfinite(y);
        rounding_var += out.variance(y, at);
        size += y * y;
        for (int q = 0; q < probes; ++q) stored[q] += sign_of(j, q) * (y - p.added(at));
      }
      const double internal = rho_sq * (p.alpha * p.alpha * (n / 6 + 1) * squares + (n / 3 + 4) * size);
      if (!finite || !std::isfinite(internal) || rounding_var + internal <= 0) continue;
      const double var = rounding_var + internal;
      const double bound = reach * std::sqrt(1.5 * rounding_var + 36 * internal);
      for (int q = 0; q < probes; ++q) {
        const double error = stored[q] - p.alpha * exact[q];
        error_sq += error * error;
        if (std::fabs(error) > bound && result.row < 0)
          result.row = static_cast<std::int64_t>(batch * p.m + i);
      }
      rounding_sum += probes * rounding_var;
      internal_sum += probes * internal;
      var_sq += probes * var * var;
    }
  }
  const double var = rounding_sum + internal_sum;
  if (var <= 0) return result;
  // Projections are Gaussian: their squares spread 2.5 times as much as those of uniform errors.
  const double t = limit_of(var * var / var_sq / 2.5), l = std::max(t, expectation().rms_limit);
  result.ratio = std::sqrt(error_sq / var);
  result.limit = std::sqrt((t * t * rounding_sum + l * l * internal_sum) / var);
  return result;
}

}  // namespace numdiff::analysis::expect

#include "analysis/expect/accumulator.hpp"

#include <algorithm>
#include <cmath>

namespace numdiff::analysis::expect {

double accumulator::unit() const noexcept {
  const double u = numbers.unit();
  const double aligned = alignment > 0 ? std::ldexp(1.0, -alignment - 1) : 0;
  return std::max(u, aligned) * (truncates ? 2 : 1);
}

bool accumulator::narrow() const noexcept {
  return truncates || unit() > 0x1p-20;
}

accumulator accumulator_of(const model::op_row& op) noexcept {
  const auto known = [](std::uint16_t t) { return static_cast<dtype>(t) != dtype::unknown; };
  accumulator a;
  dtype type = static_cast<dtype>(op.accumulate_dtype);
  if (!known(op.accumulate_dtype) || is_integer(type)) {
    type = static_cast<dtype>(op.output_dtype) == dtype::f64 ? dtype::f64 : dtype::f32;
  }
  a.numbers = grid_of(type);
  a.truncates = static_cast<rounding>(op.accumulate_rounding) == rounding::toward_zero;
  a.alignment = op.accumulate_bits;
  if (a.alignment >= a.numbers.precision - 1) a.alignment = 0;
  if (a.alignment > 0) a.numbers.precision = a.alignment + 1;
  a.sequential = static_cast<reduction_order>(op.order) == reduction_order::sequential;
  a.promotion = op.promotion;
  a.split = std::max<std::int64_t>(op.split, 1);
  a.wide = op.promotion > 0 && type != dtype::f64 ? grid_of(dtype::f32) : grid_of(type);
  a.partials = known(op.partial_dtype) ? grid_of(static_cast<dtype>(op.partial_dtype)) : a.wide;
  return a;
}

template <class R>
chain<R>::chain(const accumulator& how, std::int64_t n) noexcept
    : how_(&how),
      part_length_((n + how.split - 1) / how.split),
      unit_(how.unit()),
      floor_(how.numbers.smallest() * (how.truncates ? 1 : 0.5)) {
  if (how.fault == nullptr) return;
  if (how.fault->parts > 0)
    part_length_ = std::max<std::int64_t>(1, (n + how.fault->parts - 1) / how.fault->parts);
  faulty_.assign(how.fault->pairs ? 64 : how.fault->parts > 0 ? 1 : how.fault->lanes, 0.0);
}

template <class R>
void chain<R>::follow(double addend) noexcept {
  const faulty_sum& f = *how_->fault;
  if (f.parts > 0) {
    faulty_[0] += addend;
    if (++in_part_ < part_length_) return;
    part_ += f.numbers.round(faulty_[0]);
    faulty_[0] = 0;
    in_part_ = 0;
    return;
  }
  const double rounded = f.addends ? f.numbers.round(addend) : addend;
  if (f.pairs) {
    // Lane l holds a finished sum of 2^l addends where bit l of their number is set.
    std::size_t level = 0;
    double sum = rounded;
    for (std::int64_t n = n_++; (n & 1) != 0; n >>= 1) sum = f.numbers.round(faulty_[level++] + sum);
    faulty_[level] = sum;
    return;
  }
  double& lane = faulty_[static_cast<std::size_t>(n_++) % faulty_.size()];
  lane = f.numbers.round(lane + rounded);
}

template <class R>
double chain<R>::followed() noexcept {
  const grid& g = how_->fault->numbers;
  for (auto addend = held_.rbegin(); addend != held_.rend(); ++addend) follow(*addend);
  held_.clear();
  if (how_->fault->parts > 0) return part_ + g.round(faulty_[0]);
  double sum = 0;
  for (std::size_t l = 0; l < faulty_.size(); ++l) {
    const bool holds = !how_->fault->pairs || (n_ >> l & 1) != 0;
    if (holds) sum = g.round(sum + faulty_[l]);
  }
  return sum;
}

template <class R>
void chain<R>::add(R addend, double seen) noexcept {
  const double p = static_cast<double>(addend);
  if (how_->fault != nullptr) {
    if (how_->fault->reversed)
      held_.push_back(p);
    else
      follow(p);
    return;
  }
  const double size = std::fabs(p);
  total_ += addend;
  const double before = std::fabs(chunk_);
  chunk_ += p;
  magnitude_ += size;
  const double after = std::fabs(chunk_);
  if (std::fabs(p - previous_) > 0x1p-8 * size) {
    squares_ += run_ * run_;
    run_ = 0;
  }
  run_ += after;
  previous_ = p;
  addend_squares_ += p * p;
  double& lane = lanes_[n_ & 1];
  lane += p;
  lane_squares_ += lane * lane;
  peak_ = std::max(peak_, after);
  ++n_;
  // Far below the sum, addends are lost whole: errors of their sign.
  if (size < unit_ * before) lost_ += p;
  if (how_->narrow()) {
    // The largest term of the last 32 sets where an aligning accumulator cuts.
    window_ = std::max({size, seen, window_ * 0.97});
    if (how_->alignment > 0) window_squares_ += window_ * window_;
    const double reach = how_->alignment > 0 ? std::max({before, after, window_})
                                             : (how_->sequential ? std::max(before, after) : magnitude_);
    const double step = std::max(unit_ * reach, floor_);
    bound_ += how_->alignment > 0 ? 3 * step : std::min(step, size) + unit_ * size;
  }
  if (how_->promotion > 0 && ++in_promotion_ == how_->promotion) {
    part_ += chunk_;
    wide_squares_ += part_ * part_;
    chunk_ = 0;
    magnitude_ = 0;
    in_promotion_ = 0;
  }
  if (++in_part_ == part_length_ && how_->split > 1) close_part();
}

template <class R>
void chain<R>::close_part() noexcept {
  part_ += chunk_;
  partial_squares_ += part_ * part_ + static_cast<double>(total_) * static_cast<double>(total_);
  chunk_ = part_ = magnitude_ = window_ = 0;
  in_part_ = in_promotion_ = 0;
}

template <class R>
void chain<R>::finish() noexcept {
  if (how_->fault != nullptr) {
    total_ = static_cast<R>(followed());
    return;
  }
  if (how_->split > 1 && in_part_ > 0) close_part();  // a last part that is shorter
  squares_ += run_ * run_;
  run_ = 0;
  const double value = static_cast<double>(total_);
  const double n = static_cast<double>(n_);
  double sums = squares_;
  if (how_->promotion == 0 && how_->split == 1) {
    sums = std::max({sums, lane_squares_, n / 6 * addend_squares_ + n / 3 * value * value});
  }
  const auto square = [](double x) { return x * x; };
  const double rho = rho_factor * unit_;
  const double rho_wide = rho_factor * how_->wide.unit(), rho_partial = rho_factor * how_->partials.unit();
  variance_ = square(lost_) + square(rho) * (sums + addend_squares_ + window_squares_) +
              square(rho_wide) * (wide_squares_ + value * value) + square(rho_partial) * partial_squares_ +
              square(floor_) / 3 * n + square(0x1p-54) * (how_->promotion + how_->split > 1 ? squares_ : 0);
  // Computed partial sums exceed the exact ones by their own error: a quarter covers what was seen.
  bound_ *= 1.25;
  // Parts among the subnormal numbers of their format may vanish.
  if (how_->split > 1) bound_ += how_->partials.smallest() / 2 * static_cast<double>(how_->split);
  if (how_->narrow() && how_->split > 1)
    bound_ += how_->partials.unit() * std::sqrt(partial_squares_ * static_cast<double>(how_->split));
}

template class chain<double>;
template class chain<long double>;

}  // namespace numdiff::analysis::expect

// Kinds that only move values: copy, mask, embedding, amax; and rope, which rotates them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/expect/axes.hpp"
#include "analysis/expect/hidden.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {
namespace {

double square(double x) {
  return x * x;
}

// The values must be equal where the output format holds everything the input format does.
bool keeps_values(const tensor& from, const tensor& to) {
  const grid a = grid_of(from.type), b = grid_of(to.type);
  return from.scales.empty() && to.scales.empty() && b.precision >= a.precision &&
         b.min_exponent - b.precision <= a.min_exponent - a.precision && b.maximum >= a.maximum;
}

expectations moved(std::vector<double> values, bool copies) {
  expectations e(1);
  e[0].resize(values.size(), false);
  e[0].exact = std::move(values);
  e[0].copies = copies;
  return e;
}

}  // namespace

expectations copy(const call& c) {
  const tensor& x = c.read(0);
  require(x.values.size() == c.write(0).values.size(), "operands of different size");
  return moved(x.values, keeps_values(x, c.write(0)) || x.type == c.write(0).type);
}

expectations embedding(const call& c) {
  const tensor &ids = c.read(0), &table = c.read(1);
  const std::size_t width = last_of(table.shape), entries = width > 0 ? table.values.size() / width : 0;
  std::vector<double> values(ids.values.size() * width);
  for (std::size_t t = 0; t < ids.values.size(); ++t) {
    const double id = ids.values[t];
    require(id >= 0 && id < static_cast<double>(entries), "an id outside the table");
    std::copy_n(table.values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(id) * width),
                width, values.begin() + static_cast<std::ptrdiff_t>(t * width));
  }
  expectations e = moved(std::move(values), keeps_values(table, c.write(0)));
  // The row of an id that is hidden is anything.
  if (const operand& which = c.op().reads[0]; hides(which)) {
    const std::vector<std::uint8_t> zero = zero_coded(which);
    for (std::size_t i = 0; i < e[0].exact.size(); ++i)
      if (zero[i / width] == 0) e[0].judged.push_back(static_cast<std::int64_t>(i));
    require(!e[0].judged.empty(), "which ids are hidden is not told");
  }
  return e;
}

expectations mask(const call& c) {
  const tensor& x = c.read(0);
  require(x.shape.size() >= 2, "a mask needs rows and columns");
  const std::size_t columns = last_of(x.shape), rows = static_cast<std::size_t>(x.shape[x.shape.size() - 2]);
  const bool causal = c.scalar("causal", 0) != 0;
  const double fill = c.scalar("fill", -std::numeric_limits<double>::infinity());
  const grid out = grid_of(c.write(0).type);
  const double stored_fill = std::fabs(fill) > out.maximum ? std::copysign(HUGE_VAL, fill) : out.round(fill);
  const operand& written = c.op().writes.front();
  require(c.write(0).values.size() == x.values.size(), "operands of different size");
  const std::vector<std::uint8_t> zero = hides(written) ? zero_coded(written) : std::vector<std::uint8_t>();
  std::vector<double> values = x.values;
  std::vector<bool> seen(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t s = i % columns, t = i / columns % rows;
    bool visible = !causal || s + rows <= t + columns;
    if (c.reads(2)) visible = visible && c.read(1).values[i % c.read(1).values.size()] != 0;
    seen[i] = visible;
    // A view that hides the fill stores zero there.
    if (!visible) values[i] = !zero.empty() && zero[i] != 0 ? 0 : stored_fill;
  }
  expectations e = moved(std::move(values), keeps_values(x, c.write(0)));
  e[0].judges_hidden = true;
  e[0].review = [&c, columns, stored_fill, zero, seen](const expectation&, judgement& j) {
    // A row that the mask leaves something of, and the output nothing.
    const std::vector<double>& y = c.write(0).values;
    std::int64_t lost = 0;
    for (std::size_t row = 0; row < y.size() && j.v == verdict::beyond; row += columns) {
      bool sees = false, gone = true;
      for (std::size_t i = row; i < row + columns; ++i) {
        sees = sees || seen[i];
        gone = gone && (y[i] == stored_fill || (!zero.empty() && zero[i] != 0));
      }
      lost += sees && gone;
    }
    if (lost == 0) return;
    j.cause_hint = "fully-masked-row";
    j.reason = "rows that see something are masked whole";
    j.evidence.emplace_back("masked_rows", static_cast<double>(lost));
  };
  return e;
}

expectations amax(const call& c) {
  const tensor &x = c.read(0), &y = c.write(0);
  const expectation e =
      nearest_of(reductions(x.shape, y.shape, usual_axes::trailing), y, [&](const reduction_axes& axes) {
        std::vector<double> tops(axes.kept.size(), 0);
        for (std::size_t r = 0; r < tops.size(); ++r) {
          for (const std::size_t k : axes.reduced) {
            const double v = x.values[axes.kept[r] + k];
            tops[r] = std::isnan(v) || std::isnan(tops[r]) ? std::numeric_limits<double>::quiet_NaN()
                                                           : std::max(tops[r], std::fabs(v));
          }
        }
        return std::move(moved(std::move(tops), keeps_values(x, y)).front());
      });
  return {e};
}

namespace {

// What was rounded on the way to the angle.
struct angle_form {
  grid positions = grid_of(dtype::f64), frequencies = grid_of(dtype::f64), angles = grid_of(dtype::f64);
};

template <class R>
expectation rotated(const call& c, const angle_form& form) {
  const tensor &x = c.read(0), &positions = c.read(1);
  require(x.shape.size() >= 3, "rope needs rows, heads and width");
  const std::size_t width = last_of(x.shape), heads = static_cast<std::size_t>(x.shape[x.shape.size() - 2]);
  const std::size_t half = width / 2, count = positions.values.size();
  require(count > 0 && width % 2 == 0 && x.values.size() % (count * heads * width) == 0,
          "positions do not fit the rows");
  const R base = static_cast<R>(c.scalar("base")), sign = static_cast<R>(c.scalar("sign", 1));
  expectation e;
  e.resize(x.values.size(), c.wide());
  std::vector<R> frequency(half);
  for (std::size_t i = 0; i < half; ++i) {
    frequency[i] = std::pow(base, -2 * static_cast<R>(i) / static_cast<R>(width));
    if (form.frequencies.precision < 53)
      frequency[i] = static_cast<R>(form.frequencies.round(static_cast<double>(frequency[i])));
  }
  const double grow = std::log(static_cast<double>(base));
  for (std::size_t row = 0; row < x.values.size() / width; ++row) {
    const R position = static_cast<R>(form.positions.round(positions.values[row / heads % count]));
    for (std::size_t i = 0; i < half; ++i) {
      R angle = position * frequency[i];
      if (form.angles.precision < 53) angle = static_cast<R>(form.angles.round(static_cast<double>(angle)));
      const R cosine = c.step(1, std::cos(angle)), sine = c.step(1, sign * std::sin(angle));
      const std::size_t a = row * width + i, b = a + half;
      const R u = static_cast<R>(x.values[a]), v = static_cast<R>(x.values[b]);
      // The angle carries the errors of the power (its exponent is i/D ln(base)), of its product and of the
      // argument's reduction: an absolute error that turns the pair.
      const double turn = c.rho() * std::fabs(static_cast<double>(angle)) *
                              (2 + 2 * grow * static_cast<double>(i) / static_cast<double>(width)) +
                          c.rho();
      const double size = square(static_cast<double>(u)) + square(static_cast<double>(v));
      const R first = c.step(2, u * cosine) - c.step(2, v * sine),
              second = c.step(2, v * cosine) + c.step(2, u * sine);
      e.set(a, first, square(turn * static_cast<double>(second)) + 2 * square(c.rho()) * size);
      e.set(b, second, square(turn * static_cast<double>(first)) + 2 * square(c.rho()) * size);
    }
  }
  return e;
}

}  // namespace

expectations rope(const call& c) {
  expectations e(1);
  e[0] = in_precision_of(c, [&]<class R>() {
    expectations one(1);
    one[0] = rotated<R>(c, {});
    return one;
  })[0];
  for (const dtype t : {dtype::bf16, dtype::f16}) {
    const grid low = grid_of(t);
    const std::string name = name_of(t);
    const auto offer = [&](const char* what, const angle_form& form) {
      e[0].hypotheses.push_back({"unrepresentable-integer", std::string(what) + " were rounded to " + name,
                                 [&c, form](const expectation&) { return rotated<double>(c, form).exact; }});
    };
    angle_form form;
    form.positions = low;
    offer("positions", form);
    form.frequencies = low;
    offer("positions and frequencies", form);
    form.angles = low;
    offer("positions, frequencies and angles", form);
    form = {};
    form.angles = low;
    offer("angles", form);
    form.positions = low;
    offer("positions and angles", form);
    form = {};
    form.frequencies = low;
    e[0].hypotheses.push_back({"constant-precision", "frequencies were rounded to " + name,
                               [&c, form](const expectation&) { return rotated<double>(c, form).exact; }});
  }
  return e;
}

}  // namespace numdiff::analysis::expect

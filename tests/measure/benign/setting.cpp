#include "measure/benign/setting.hpp"

#include <random>

namespace benign {

const char* name_of(number_format f) {
  constexpr const char* names[] = {"FP32", "BF16", "FP16", "E4M3", "MXFP8", "NVFP4"};
  return names[static_cast<int>(f)];
}
const char* name_of(data_of d) {
  constexpr const char* names[] = {"normal", "positive", "heavy-tailed", "outlier-channel",
                                   "near-cancelling"};
  return names[static_cast<int>(d)];
}
const char* name_of(order_of o) {
  constexpr const char* names[] = {"by index", "from the end", "lanes", "halves", "threads"};
  return names[static_cast<int>(o)];
}
const char* name_of(product_sum s) {
  constexpr const char* names[] = {"fp32", "promoted", "split-K in bf16", "fp64", "narrow"};
  return names[static_cast<int>(s)];
}

namespace {

numdiff::recipe scales_of(number_format f, int choice, bool stochastic, std::uint64_t seed) {
  using numdiff::mx_rule;
  numdiff::recipe r;
  switch (f) {
    case number_format::mxfp8: {
      constexpr mx_rule rules[] = {mx_rule::floor, mx_rule::rceil, mx_rule::ceiling, mx_rule::even};
      r = numdiff::recipe_mx(choice % 8 == 7 ? dtype::f8e5m2 : dtype::f8e4m3fn, rules[choice % 4]);
      break;
    }
    case number_format::nvfp4:
      r = numdiff::recipe_nvfp4();
      r.four_over_six = choice % 3 == 2;
      break;
    default:
      switch (choice % 4) {
        case 0: r = numdiff::recipe_tensor(dtype::f8e4m3fn); break;
        case 1: r = numdiff::recipe_row(dtype::f8e4m3fn); break;
        case 2: r = numdiff::recipe_block(dtype::f8e4m3fn, 1, 128, choice % 8 == 2); break;
        default: r = numdiff::recipe_block(dtype::f8e4m3fn, 128, 128); break;
      }
  }
  if (stochastic) r.round = numdiff::rounding::stochastic;
  r.seed = seed;
  return r;
}

}  // namespace

setting setting_of(int number, std::uint64_t seed) {
  std::seed_seq both{static_cast<std::uint64_t>(number), seed};
  std::mt19937_64 random(both);
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  setting s;
  s.number = number;
  s.seed = random();
  s.format = static_cast<number_format>(number % format_count);
  s.data = static_cast<data_of>(number / format_count % data_count);
  s.order = static_cast<order_of>(between(0, order_count - 1));
  s.pieces = between(2, 16);
  s.fused = between(0, 1) == 1;
  s.products = static_cast<product_sum>(between(0, product_sum_count - 1));
  s.stochastic = s.format != number_format::fp32 && between(0, 3) == 0;
  s.delayed = s.format == number_format::e4m3 && between(0, 2) == 0;
  s.tree = between(0, 1) == 1;
  s.ranks = number % 5 == 0 ? (std::int32_t{2} << between(0, 2)) : 1;
  s.reference = between(0, 3) == 0 ? dtype::f32 : dtype::f64;
  s.batch = between(1, 3);
  s.rows = between(5, 40);
  s.width = 2 * between(8, 72);
  s.scales = scales_of(s.format, static_cast<int>(between(0, 7)), s.stochastic, s.seed);
  if (s.delayed) s.scales = numdiff::recipe_tensor(dtype::f8e4m3fn);
  s.reference_fuses = between(0, 1) == 1;
  s.block = std::int64_t{8} << between(0, 4);
  s.split = between(2, 8);
  if (s.ranks > 1 && s.format >= number_format::e4m3) s.format = number_format::bf16;  // on the wire
  return s;
}

std::string text_of(const setting& s) {
  std::string text = std::string(name_of(s.format)) + ", " + name_of(s.data) + ", " + name_of(s.order);
  if (s.order == order_of::lanes || s.order == order_of::threads) text += " " + std::to_string(s.pieces);
  text += std::string(", products ") + name_of(s.products);
  if (s.products == product_sum::split_bf16) text += " " + std::to_string(s.split);
  if (s.products == product_sum::promoted) text += " " + std::to_string(s.block);
  if (s.fused) text += ", fma";
  if (s.stochastic) text += ", stochastic";
  if (s.delayed) text += ", delayed";
  if (s.ranks > 1) text += ", " + std::to_string(s.ranks) + " ranks " + (s.tree ? "tree" : "ring");
  if (s.ranks == 1) text += std::string(", fused in the ") + (s.reference_fuses ? "reference" : "test");
  text += ", " + std::to_string(s.batch) + "x" + std::to_string(s.rows) + "x" + std::to_string(s.width);
  return text + ", against " + name_of(s.reference);
}

}  // namespace benign

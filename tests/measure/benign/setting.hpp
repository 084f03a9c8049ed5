#pragma once
// What one pair of runs varies: formats, data, sizes and the ways in which honest kernels differ.
#include <cstdint>
#include <string>

#include "numdiff/dtype.hpp"
#include "numdiff/recipe.hpp"

namespace benign {

using numdiff::dtype;

enum class number_format { fp32, bf16, fp16, e4m3, mxfp8, nvfp4 };
enum class data_of { normal, positive, heavy, outliers, cancelling };
// Of every sum: by index, from the end, in interleaved lanes, halved again and again, in one stretch a
// thread.
enum class order_of { index, reversed, lanes, halves, threads };
enum class product_sum { plain, promoted, split_bf16, fp64, narrow };

inline constexpr int format_count = 6, data_count = 5, order_count = 5, product_sum_count = 5;

const char* name_of(number_format f);
const char* name_of(data_of d);
const char* name_of(order_of o);
const char* name_of(product_sum s);

struct setting {
  int number = 0;
  std::uint64_t seed = 0;
  number_format format = number_format::fp32;
  data_of data = data_of::normal;
  order_of order = order_of::index;  // of the test run; the reference adds by index
  std::int64_t pieces = 1;           // lanes or threads
  bool fused = false;                // multiply-adds round once
  product_sum products = product_sum::plain;
  bool stochastic = false;  // rounding of what is stored
  bool delayed = false;     // e4m3: the scale follows from earlier tensors
  bool tree = false;        // collectives
  std::int32_t ranks = 1;
  dtype reference = dtype::f64;
  bool reference_fuses = false;  // which run has fused kernels; the other one has their parts
  std::int64_t block = 32;       // products between promotions, keys of a block of fused attention
  std::int64_t split = 4;        // parts of a split sum
  std::int64_t batch = 1, rows = 16, width = 32;
  numdiff::recipe scales = {};
};

// Pair `number` of a suite: format and data in turn, the rest drawn from the seed.
setting setting_of(int number, std::uint64_t seed);

std::string text_of(const setting& s);

}  // namespace benign

// Whole attention kernels and their gradients, replayed: honest ones in any format, mask and grouping are
// accepted, faults are found, and what the op does not tell accuses nobody.
#include <doctest/doctest.h>

#include <limits>

#include "analysis/expect/judged.hpp"

using namespace numdiff;
using namespace numdiff::test;
using analysis::verdict;

namespace {

enum class sees { all, causal, window };  // window: causal, and no farther back than 3

// A kernel in FP32 that goes through the keys in blocks and rounds probabilities and their gradients to the
// format of its tensors before they multiply.
struct kernel {
  dtype type = dtype::bf16;
  sees mask = sees::all;
  int told = -1;  // the scalar `causal`, -1 none
  std::int64_t heads = 2, group = 1, tokens = 20, keys = 20, width = 16, values_width = 8;
  spread_of spread = spread_of::normal;
  float applied = 0.25F;      // the scale that it computes with; it tells 0.25
  dtype scores = dtype::f32;  // what they are rounded to
  bool mean_from_y = false;
  bool takes_mean = true;

  tensor q = {}, k = {}, v = {}, dy = {}, y = {}, lse = {};

  [[nodiscard]] float in_unit(float x, dtype t) const {
    return static_cast<float>(decode(t, encode(t, static_cast<double>(x))));
  }
  static float at(const tensor& x, std::int64_t i) {
    return static_cast<float>(x.values[static_cast<std::size_t>(i)]);
  }
  [[nodiscard]] std::int64_t key_row(std::int64_t row, std::int64_t j) const {
    return row / tokens / group * keys + j;
  }
  [[nodiscard]] bool visible(std::int64_t row, std::int64_t j) const {
    const std::int64_t place = row % tokens + keys - tokens;
    return mask == sees::all || (j <= place && (mask == sees::causal || j > place - 3));
  }
  [[nodiscard]] float score(std::int64_t row, std::int64_t j) const {
    float s = 0;
    for (std::int64_t i = 0; i < width; ++i) s += at(q, row * width + i) * at(k, key_row(row, j) * width + i);
    return in_unit(s * applied, scores);
  }

  void draw(sampler& random) {
    const auto numbers = [&](std::int64_t h, std::int64_t n, std::int64_t w, double size) {
      values x = random.draw(static_cast<std::size_t>(h * n * w), spread, static_cast<std::size_t>(w));
      for (double& e : x) e *= size;
      return stored(type, {h, n, w}, x);
    };
    q = numbers(heads * group, tokens, width, 0.5);
    k = numbers(heads, keys, width, 0.5);
    v = numbers(heads, keys, values_width, 1);
    dy = numbers(heads * group, tokens, values_width, 0.1);
  }
  execution tell(const char* kind) const {
    execution e(kind, type, dtype::f32, type);
    e.scalar("scale", 0.25);
    if (told >= 0) e.scalar("causal", told);
    return e;
  }

  execution forward(sampler& random) {
    draw(random);
    const std::int64_t rows = heads * group * tokens, block = 7;
    values out(static_cast<std::size_t>(rows * values_width)), logs(static_cast<std::size_t>(rows));
    for (std::int64_t row = 0; row < rows; ++row) {
      float top = -std::numeric_limits<float>::infinity(), total = 0;
      std::vector<float> sums(static_cast<std::size_t>(values_width), 0.0F);
      for (std::int64_t first = 0; first < keys; first += block) {
        float next = top;
        for (std::int64_t j = first; j < std::min(keys, first + block); ++j)
          if (visible(row, j)) next = std::max(next, score(row, j));
        if (std::isinf(next)) continue;
        const float keep = std::exp(top - next);
        top = next;
        total *= keep;
        for (float& s : sums) s *= keep;
        for (std::int64_t j = first; j < std::min(keys, first + block); ++j) {
          if (!visible(row, j)) continue;
          const float p = std::exp(score(row, j) - top);
          total += p;
          for (std::int64_t i = 0; i < values_width; ++i)
            sums[static_cast<std::size_t>(i)] += in_unit(p, type) * at(v, key_row(row, j) * values_width + i);
        }
      }
      for (std::int64_t i = 0; i < values_width; ++i)
        out[static_cast<std::size_t>(row * values_width + i)] = sums[static_cast<std::size_t>(i)] / total;
      logs[static_cast<std::size_t>(row)] = top + std::log(total);
    }
    y = stored(type, {heads * group, tokens, values_width}, out);
    lse = stored(dtype::f32, {heads * group, tokens}, logs);
    execution e = tell("attention");
    e.read(q).read(k).read(v).write(y).write(lse);
    return e;
  }

  execution backward(sampler& random) {
    static_cast<void>(forward(random));
    const std::int64_t rows = heads * group * tokens;
    std::vector<float> dq(q.values.size(), 0), dk(k.values.size(), 0), dv(v.values.size(), 0);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto weight = [&](std::int64_t j) { return std::exp(score(row, j) - at(lse, row)); };
      const auto change = [&](std::int64_t j) {
        float s = 0;
        for (std::int64_t i = 0; i < values_width; ++i)
          s += at(dy, row * values_width + i) * at(v, key_row(row, j) * values_width + i);
        return s;
      };
      float mean = 0;
      for (std::int64_t i = 0; i < values_width && mean_from_y; ++i)
        mean += at(dy, row * values_width + i) * at(y, row * values_width + i);
      for (std::int64_t j = 0; j < keys && !mean_from_y; ++j)
        if (visible(row, j)) mean += weight(j) * change(j);
      for (std::int64_t j = 0; j < keys; ++j) {
        if (!visible(row, j)) continue;
        const float p = weight(j), ds = in_unit(p * (change(j) - (takes_mean ? mean : 0)), type);
        for (std::int64_t i = 0; i < width; ++i) {
          dq[static_cast<std::size_t>(row * width + i)] += ds * at(k, key_row(row, j) * width + i);
          dk[static_cast<std::size_t>(key_row(row, j) * width + i)] += ds * at(q, row * width + i);
        }
        for (std::int64_t i = 0; i < values_width; ++i)
          dv[static_cast<std::size_t>(key_row(row, j) * values_width + i)] +=
              in_unit(p, type) * at(dy, row * values_width + i);
      }
    }
    const auto out = [&](const tensor& like, const std::vector<float>& x, float factor) {
      values scaled(x.begin(), x.end());
      for (double& e : scaled) e = static_cast<double>(static_cast<float>(e) * factor);
      return stored(type, like.shape, scaled);
    };
    execution e = tell("attention_gradient");
    e.read(dy).read(q).read(k).read(v).read(lse, role::input, "", "lse");
    if (mean_from_y) e.read(y, role::input, "", "y");
    e.write(out(q, dq, applied), role::gradient)
        .write(out(k, dk, applied), role::gradient)
        .write(out(v, dv, 1), role::gradient);
    return e;
  }
};

constexpr dtype formats[] = {dtype::f32, dtype::bf16, dtype::f16};

}  // namespace

TEST_CASE("honest attention in every format, mask, grouping and spread") {
  sampler random(1);
  for (const dtype t : formats) {
    for (const spread_of s :
         {spread_of::normal, spread_of::positive, spread_of::heavy, spread_of::outliers}) {
      for (const sees mask : {sees::all, sees::causal}) {
        for (const int told : {-1, mask == sees::causal ? 1 : 0}) {
          kernel a{.type = t, .mask = mask, .told = told, .group = 1 + random.between(0, 2), .spread = s};
          a.keys = told >= 0 ? 31 : 20;
          const execution forward = a.forward(random);
          accepts(forward, 0);
          accepts(forward, 1);
          for (const bool from_y : {false, true}) {
            a.mean_from_y = from_y;
            const execution backward = a.backward(random);
            for (std::size_t w = 0; w < 3; ++w) accepts(backward, w);
          }
        }
      }
    }
  }
}

TEST_CASE("one query, as in decoding, and a row of one key") {
  sampler random(2);
  for (const dtype t : formats) {
    kernel decoding{.type = t, .group = 4, .tokens = 1, .keys = 45};
    accepts(decoding.forward(random));
    kernel single{.type = t, .tokens = 3, .keys = 1};
    accepts(single.forward(random));
  }
}

TEST_CASE("a mask that is read says what is seen, or what is added") {
  sampler random(3);
  for (const bool visible : {false, true}) {
    kernel a{.mask = sees::window};
    static_cast<void>(a.forward(random));
    values m(static_cast<std::size_t>(a.tokens * a.keys));
    for (std::size_t i = 0; i < m.size(); ++i) {
      const bool seen =
          a.visible(static_cast<std::int64_t>(i) / a.keys, static_cast<std::int64_t>(i) % a.keys);
      m[i] = visible ? (seen ? 1 : 0) : (seen ? 0 : -std::numeric_limits<double>::infinity());
    }
    const tensor mask = stored(visible ? dtype::u8 : dtype::f32, {a.tokens, a.keys}, m);
    execution e = a.tell("attention");
    e.read(a.q).read(a.k).read(a.v).read(mask).write(a.y).write(a.lse);
    accepts(e, 0);
    accepts(e, 1);
  }
}

TEST_CASE("faults inside attention kernels") {
  sampler random(4);
  for (const dtype t : formats) {
    for (const int told : {-1, 1}) {
      kernel unscaled{.type = t, .mask = sees::causal, .told = told, .applied = 1};
      blames(unscaled.forward(random), "factor-missing");
      if (t != dtype::f32) continue;
      kernel coarse{.type = t, .mask = sees::causal, .told = told, .scores = dtype::bf16};
      CHECK(answer(coarse.forward(random)).cause_hint == "rounding-order");
    }
    kernel no_mean{.type = t, .told = 0, .takes_mean = false};
    CHECK(answer(no_mean.backward(random), 0).v == verdict::beyond);
    CHECK(answer(no_mean.backward(random), 1).v == verdict::beyond);
    accepts(no_mean.backward(random), 2);
    kernel unmasked{.type = t, .mask = sees::all, .told = 1};
    CHECK(answer(unmasked.forward(random)).v == verdict::beyond);
    CHECK(answer(unmasked.backward(random), 2).v == verdict::beyond);
  }
}

TEST_CASE("a mask that is not told accuses nobody, one that is told does") {
  sampler random(5);
  for (const int told : {-1, 1}) {
    kernel window{.mask = sees::window, .told = told};
    for (const bool gradient : {false, true}) {
      const judgement j = answer(gradient ? window.backward(random) : window.forward(random));
      CHECK(j.v == (told < 0 ? verdict::undecided : verdict::beyond));
      if (told < 0) CHECK(j.reason.find("no mask is told") != std::string::npos);
    }
  }
}

TEST_CASE("what attention's formula does not have is not replayed") {
  sampler random(6);
  kernel a;
  execution capped = a.forward(random);
  capped.scalar("softcap", 30);
  CHECK_FALSE(capped.replay().done);
  execution more = a.backward(random);
  more.read(a.lse, role::input, "", "sinks");
  CHECK_FALSE(more.replay().done);
}

TEST_CASE("a large attention is replayed by rows, and a bad row that is not finite is among them") {
  sampler random(7);
  kernel a{
      .told = 0, .heads = 1, .tokens = 1200, .keys = 1200, .width = 64, .values_width = 64, .applied = 0.25F};
  execution e = a.forward(random);
  accepts(e);
  const judgement j = answer(e);
  const auto seen =
      std::find_if(j.evidence.begin(), j.evidence.end(), [](const auto& x) { return x.first == "elements"; });
  REQUIRE(seen != j.evidence.end());
  CHECK(seen->second < 1200 * 64);
  CHECK(seen->second > 600 * 64);
  e.output().values[777 * 64 + 5] = std::numeric_limits<double>::quiet_NaN();
  CHECK(answer(e).v == verdict::beyond);
}

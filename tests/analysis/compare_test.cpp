// Whole comparisons of small runs: agreement, named faults, totals, selection, levels.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "analysis/comparison.hpp"
#include "analysis/tiny_program.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::outcome;

namespace {

void check_totals(const analysis::comparison& c) {
  const analysis::totals& t = c.totals;
  CHECK(t.matched == t.equal + t.within + t.beyond + t.undecided + t.not_comparable);
  for (const analysis::side_totals* s : {&t.reference, &t.test}) {
    CHECK(s->captures == s->matched + s->auxiliary + s->bridged + s->only_there + s->dropped);
    CHECK(s->matched == t.matched);
  }
}

analysis::comparison compared(run_builder& reference, run_builder& test, const analysis::options& how = {}) {
  const analysis::comparison c = compare(reference.run(), test.run(), how);
  check_totals(c);
  return c;
}

spoiler at(std::int64_t step, int layer, const std::string& op,
           std::function<void(std::vector<double>&)> what) {
  return [=](std::int64_t s, int l, const std::string& o, std::vector<double>& v) {
    if (s == step && l == layer && o == op) what(v);
  };
}

std::string first(const analysis::comparison& c) {
  if (!c.first_divergence) return "none";
  return std::to_string(c.first_divergence->where.step) + " " + c.first_divergence->where.scope + "/" +
         c.first_divergence->where.op + " " + c.first_divergence->cause;
}

}  // namespace

TEST_CASE("equal runs agree and no value is read") {
  run_builder a = tiny{}.run(), b = tiny{}.run();
  const auto c = compared(a, b);
  CHECK(c.verdict == outcome::agree);
  CHECK(c.complete);
  CHECK(c.totals.equal == c.totals.matched);
  CHECK(c.totals.matched == 2 * 3 * 8);
  CHECK(a->reads() + b->reads() == 0);
  CHECK(c.findings.empty());
}

TEST_CASE("honest low precision agrees with fp32, everything decided") {
  for (const dtype type : {dtype::bf16, dtype::f16, dtype::f64}) {
    run_builder a = tiny{}.run(), b = tiny{.type = type}.run();
    const auto c = compared(a, b);
    CAPTURE(name_of(type));
    CAPTURE(first(c));
    CHECK(c.verdict == outcome::agree);
    CHECK(c.totals.undecided == 0);
    CHECK(c.totals.beyond == 0);
    CHECK(c.first_divergence.has_value() == false);
  }
}

TEST_CASE("a wrong op is the first divergence, at any place") {
  for (const int layer : {0, 1, 2}) {
    for (const std::int64_t step : {0, 1}) {
      run_builder a = tiny{}.run();
      run_builder b = tiny{
          .type = dtype::bf16,
          .spoil = at(step, layer, "residual", [](auto& v) {
            for (std::size_t i = 0; i < v.size(); ++i) v[i] *= i % 2 ? 1.05 : 0.97;
          })}.run();
      const auto c = compared(a, b);
      CHECK(c.verdict == outcome::differ);
      REQUIRE(c.first_divergence);
      CHECK(c.first_divergence->where.op == "residual");
      CHECK(c.first_divergence->where.step == step);
      CHECK(c.first_divergence->where.scope == "decoder.layer." + std::to_string(layer));
      CHECK(c.first_divergence->seen_in == analysis::side::test);
      CHECK(c.roots.size() == 1);
    }
  }
}

TEST_CASE("a fault of the reference is named there") {
  run_builder a = tiny{.spoil = at(1, 1, "act", [](auto& v) { v[3] += 0.5; })}.run();
  run_builder b = tiny{.type = dtype::bf16}.run();
  const auto c = compared(a, b);
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.op == "act");
  CHECK(c.first_divergence->seen_in == analysis::side::reference);
}

TEST_CASE("independent faults are all roots, in execution order") {
  const spoiler one = at(0, 2, "act", [](auto& v) { v[5] += 1; });
  const spoiler two = at(1, 0, "fc", [](auto& v) { v[7] += 1; });
  run_builder a = tiny{}.run();
  run_builder b = tiny{.spoil = [&](std::int64_t s, int l, const std::string& o, std::vector<double>& v) {
                    one(s, l, o, v);
                    two(s, l, o, v);
                  }}.run();
  const auto c = compared(a, b);
  REQUIRE(c.roots.size() == 2);
  CHECK(c.roots[0].where.op == "act");
  CHECK(c.roots[1].where.op == "fc");
}

TEST_CASE("other weights and inputs are inputs that differ") {
  run_builder a = tiny{}.run();
  run_builder w = tiny{.type = dtype::bf16, .weights = at(0, 1, "w", [](auto& v) { v[9] += 0.25; })}.run();
  CHECK(first(compared(a, w)) == "0 decoder.layer.1/fc input-differs");
  run_builder x = tiny{.inputs = at(0, 0, "x", [](auto& v) { v[0] = -v[0]; })}.run();
  CHECK(first(compared(a, x)) == "0 decoder.layer.0/fc input-differs");
}

TEST_CASE("weights in another order are a shard mismatch") {
  run_builder a = tiny{}.run();
  run_builder b = tiny{
      .weights = at(0, 1, "w", [](auto& v) {
        std::swap_ranges(v.begin(), v.begin() + 512, v.begin() + 512);
      })}.run();
  CHECK(first(compared(a, b)) == "0 decoder.layer.1/fc shard-mismatch");
}

TEST_CASE("a common factor is found") {
  run_builder a = tiny{}.run();
  run_builder b = tiny{
      .spoil = at(1, 1, "fc", [](auto& v) {
        for (double& x : v) x *= 4;
      })}.run();
  const auto c = compared(a, b);
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.op == "fc");
  CHECK(c.first_divergence->symptom == "factor");
}

TEST_CASE("NaN matrix: NaN against a number differs, NaN against NaN is bad health only") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const spoiler planted = at(0, 1, "act", [=](auto& v) { v[11] = nan; });
  run_builder a = tiny{}.run(), b = tiny{.spoil = planted}.run(), b2 = tiny{.spoil = planted}.run();
  const auto c = compared(a, b);
  CHECK(c.verdict == outcome::differ);
  CHECK(c.health == analysis::health::nonfinite);
  REQUIRE(c.nonfinite_origin);
  CHECK(c.nonfinite_origin->where.op == "act");
  CHECK(c.nonfinite_origin->where.scope == "decoder.layer.1");
  CHECK(c.roots.size() == 1);  // what only passes it on is no root
  const auto back = compared(b, a);
  CHECK(back.verdict == outcome::differ);
  const auto both = compared(b, b2);
  CHECK(both.verdict == outcome::agree);
  CHECK(both.health == analysis::health::nonfinite);
}

TEST_CASE("where it began is kept apart from where it became NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  run_builder a = tiny{}.run();
  run_builder b = tiny{.spoil = [=](std::int64_t s, int l, const std::string& o, std::vector<double>& v) {
                    if (s == 0 && l == 0 && o == "fc") v[1] += 3;
                    if (s == 0 && l == 2 && o == "residual") v[2] = nan;
                  }}.run();
  const auto c = compared(a, b);
  REQUIRE(c.first_divergence);
  REQUIRE(c.nonfinite_origin);
  CHECK(c.first_divergence->where.op == "fc");
  CHECK(c.nonfinite_origin->where.op == "residual");
}

TEST_CASE("an op without partner makes the result incomplete, a difference outranks it") {
  const auto omit = [](std::int64_t s, int l, const std::string& o) {
    return s == 1 && l == 1 && o == "act";
  };
  run_builder a = tiny{}.run(), b = tiny{.omit = omit}.run();
  const auto c = compared(a, b);
  CHECK(c.verdict == outcome::incomplete);
  CHECK_FALSE(c.complete);
  CHECK(c.totals.reference.only_there == 2);
  run_builder worse = tiny{.spoil = at(0, 0, "fc", [](auto& v) { v[0] += 1; }), .omit = omit}.run();
  CHECK(compared(a, worse).verdict == outcome::differ);
}

TEST_CASE("dropped captures, cut tails and missing ranks make the result incomplete") {
  run_builder a = tiny{}.run(), b = tiny{}.run();
  b.run().ranks[0].drops.captures = 3;
  auto c = compared(a, b);
  CHECK(c.verdict == outcome::incomplete);
  CHECK(c.totals.test.dropped == 3);
  b.run().ranks[0].drops.captures = 0;
  b.run().ranks[0].cut_rows = 1;
  CHECK(compared(a, b).verdict == outcome::incomplete);
  b.run().ranks[0].cut_rows = 0;
  b.run().missing = {1};
  CHECK(compared(a, b).verdict == outcome::incomplete);
}

TEST_CASE("nothing compared is incomplete") {
  run_builder a, b;
  CHECK(compared(a, b).verdict == outcome::incomplete);
}

TEST_CASE("at level sketch an honest run is not accused, and says what is undecided") {
  run_builder a = tiny{.keep = level::sketch}.run(),
              b = tiny{.type = dtype::bf16, .keep = level::sketch}.run();
  const auto c = compared(a, b);
  CHECK(c.verdict == outcome::agree);
  CHECK(c.totals.beyond == 0);
  CHECK(c.totals.undecided > 0);
  CHECK_FALSE(c.warnings.empty());
  CHECK(compared(a, b, {.strict = true}).verdict == outcome::incomplete);
}

TEST_CASE("a read is decided only when its writer is") {
  run_builder a = tiny{.keep = level::stats}.run(), b = tiny{.type = dtype::bf16, .keep = level::stats}.run();
  const auto c = compared(a, b);
  CHECK(c.totals.undecided > 0);
  CHECK(c.totals.within == 0);
  CHECK(c.totals.matched == c.totals.equal + c.totals.undecided);
}

TEST_CASE("at level sketch a gross error of an op with agreeing inputs is found") {
  run_builder a = tiny{.keep = level::sketch}.run();
  run_builder b = tiny{
      .keep = level::sketch,
      .spoil = at(0, 1, "fc", [](auto& v) {
        for (double& x : v) x += 1;
      })}.run();
  const auto c = compared(a, b);
  CHECK(c.verdict == outcome::differ);
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.op == "fc");
}

TEST_CASE("at level sketch a sum may be off by its rounding and by what its inputs bring, and no more") {
  for (const dtype type : {dtype::bf16, dtype::f16}) {
    const double unit = type == dtype::bf16 ? 0x1p-8 : 0x1p-11;
    for (const double units : {0.5, 6.0}) {
      run_builder a = tiny{.keep = level::sketch}.run();
      run_builder b = tiny{
          .type = type,
          .keep = level::sketch,
          .spoil = at(0, 0, "residual", [&](auto& v) {
            const std::vector<double> noise = numbers(v.size(), 77);
            for (std::size_t i = 0; i < v.size(); ++i) v[i] *= 1 + units * unit * std::sqrt(3.0) * noise[i];
          })}.run();
      const auto c = compared(a, b);
      CHECK((c.verdict == outcome::differ) == (units > 1));
      if (units > 1) CHECK(c.first_divergence->where.op == "residual");
    }
  }
}

TEST_CASE("a selection judges only what was asked for") {
  run_builder a = tiny{}.run();
  run_builder b = tiny{.spoil = at(1, 1, "fc", [](auto& v) { v[0] += 1; })}.run();
  analysis::options how;
  how.select.steps = model::parse_steps("0");
  CHECK(compared(a, b, how).verdict == outcome::agree);
  how.select.steps = model::parse_steps("1");
  how.select.scopes = {"decoder.layer.1"};
  const auto c = compared(a, b, how);
  CHECK(c.verdict == outcome::differ);
  CHECK(c.totals.matched == 8);
  how.select.scopes = {"decoder.layer.2"};
  CHECK(compared(a, b, how).verdict == outcome::agree);
}

TEST_CASE("totals add up for many random pairs") {
  std::uint64_t state = 12345;
  const auto dice = [&](std::uint64_t sides) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % sides;
  };
  const dtype types[] = {dtype::f32, dtype::bf16, dtype::f16};
  const level levels[] = {level::stats, level::sketch, level::tensors};
  for (int round = 0; round < 40; ++round) {
    const auto random_run = [&] {
      const std::uint64_t salt = dice(1000), faulty = dice(3), missing = dice(4);
      const auto hit = [salt](std::int64_t s, int l, const std::string& o, std::uint64_t one_in) {
        const auto h =
            (static_cast<std::uint64_t>(s) * 31 + static_cast<std::uint64_t>(l) * 7 + o.size() + salt) *
            2654435761U;
        return (h >> 7) % one_in == 0;
      };
      tiny t{.type = types[dice(3)],
             .steps = static_cast<int>(1 + dice(3)),
             .layers = static_cast<int>(1 + dice(3)),
             .keep = levels[dice(3)]};
      if (faulty == 0) {
        t.spoil = [hit](std::int64_t s, int l, const std::string& o, std::vector<double>& v) {
          if (hit(s, l, o, 5)) v[s % 2 ? 3 : 4] = s % 2 ? std::numeric_limits<double>::quiet_NaN() : 7;
        };
      }
      if (missing == 0)
        t.omit = [hit](std::int64_t s, int l, const std::string& o) { return hit(s, l, o, 4); };
      run_builder b = t.run();
      if (dice(5) == 0) b.run().ranks[0].drops.captures = dice(9);
      return b;
    };
    run_builder a = random_run(), b = random_run();
    const auto c = compared(a, b);
    CHECK((c.verdict == outcome::differ) == c.first_divergence.has_value());
    CHECK((c.verdict == outcome::agree ? c.complete : true));
  }
}

TEST_CASE("a capture whose op was dropped is counted, not hidden") {
  run_builder a = tiny{}.run(), b = tiny{}.run();
  b.run().ranks[0].ops.pop_back();
  const auto c = compared(a, b);
  CHECK(c.verdict == outcome::incomplete);
  CHECK(c.totals.test.dropped == 2);
  CHECK(c.totals.test.captures == c.totals.reference.captures);
}

TEST_CASE("weights of a program that tells no updates may part after the first step") {
  const auto trained = [](dtype type) {
    tiny t{.type = type};
    t.weights = [type](std::int64_t step, int, const std::string&, std::vector<double>& w) {
      if (step > 0 && type != dtype::f32) w[0] += 0.01;
    };
    return t.run();
  };
  run_builder a = trained(dtype::f32), b = trained(dtype::bf16);
  const auto c = compared(a, b);
  CHECK(c.verdict == outcome::agree);
  CHECK(c.totals.undecided > 0);
}

TEST_CASE("whole numbers chosen from inputs that differ are undecided, from equal ones beyond") {
  const auto chosen = [](double x, double id) {
    run_builder run;
    run->op(0, "s", "route", "router");
    run->input("x", whole({x, 1, 2, 3}, dtype::f64));
    run->output("ids", whole({id, 7}, dtype::i64));
    return run;
  };
  run_builder a = chosen(0.5, 1), b = chosen(0.5, 3);
  CHECK(compared(a, b).verdict == outcome::differ);
  run_builder first, second;
  for (run_builder* run : {&first, &second}) {
    const bool other = run == &second;
    (*run)->op(0, "s", "make", "mystery");
    (*run)->input("x", whole({1, 2, 3}, dtype::f64));
    (*run)->output("y", whole({0.5 + (other ? 1e-16 : 0), 1, 2}, dtype::f64));
    (*run)->op(0, "s", "route", "router");
    (*run)->input("y", whole({0.5 + (other ? 1e-16 : 0), 1, 2}, dtype::f64));
    (*run)->output("ids", whole({other ? 3.0 : 1.0, 7}, dtype::i64));
  }
  const auto c = compared(first, second);
  CHECK(c.verdict == outcome::agree);
  CHECK(c.totals.undecided == 1);
}

TEST_CASE("two roundings of the same weights agree, also where one format is subnormal") {
  std::vector<double> w = numbers(400, 3);
  for (std::size_t i = 0; i < w.size(); i += 2) w[i] *= 1e-6;
  const auto run = [&](dtype type) {
    run_builder r;
    r->op(0, "s", "f", "mystery");
    r->weight("w", whole(w, type));
    return r;
  };
  run_builder a = run(dtype::f16), b = run(dtype::bf16);
  CHECK(compared(a, b).verdict == outcome::agree);
  w[7] *= 1.02;
  run_builder c = run(dtype::bf16);
  CHECK(compared(a, c).verdict == outcome::differ);
}

// Distances of good runs: measured, and used instead of the model; a trusted run as the measure.
#include <doctest/doctest.h>

#include <cmath>

#include "analysis/envelope.hpp"
#include "analysis/tiny_program.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

tiny with(dtype type, std::int64_t step, int layer, const std::string& op, double factor) {
  tiny t{.type = type};
  t.spoil = [=](std::int64_t s, int l, const std::string& o, std::vector<double>& v) {
    if (s != step || l != layer || o != op) return;
    for (std::size_t i = 0; i < v.size(); i += 3) v[i] *= factor;
  };
  return t;
}

model::run named(run_builder& run, const std::string& path, const std::string& command) {
  model::run copy = run.run();
  copy.path = path;
  copy.ranks[0].manifest["command"] = {command, manifest_class::record};
  return copy;
}

analysis::comparison judged(run_builder& a, run_builder& b, const model::envelope& good) {
  analysis::options how;
  how.noise = &good;
  const analysis::comparison c = compare(a.run(), b.run(), how);
  REQUIRE(c.envelope);
  CHECK(c.envelope->covered + c.envelope->not_covered == c.totals.matched);
  return c;
}

std::string first(const analysis::comparison& c) {
  if (!c.first_divergence) return "none";
  return c.first_divergence->where.scope + "/" + c.first_divergence->where.op + " " +
         c.first_divergence->rule;
}

}  // namespace

TEST_CASE("the spread of good runs is the largest distance of any two") {
  run_builder a = tiny{}.run(), b = with(dtype::f32, 1, 1, "fc", 1 + 1e-3).run(),
              c = with(dtype::f32, 1, 1, "fc", 1 - 1e-3).run();
  const std::vector<model::run> runs = {named(a, "a.h5", "x --run a.h5"), named(b, "b.h5", "x --run b.h5"),
                                        named(c, "c.h5", "x --run c.h5")};
  const auto measured = analysis::measure_envelope(runs);
  CHECK(measured.envelope.not_measured == 0);
  CHECK(measured.envelope.spreads.size() == 48);
  for (const auto& [where, s] : measured.envelope.spreads) {
    CHECK(s.pairs == 3);
    if (where.step != 1 || where.scope == "decoder.layer.0") CHECK(s.different == 0);
    if (where.step == 1 && where.scope == "decoder.layer.1" && where.op == "fc" &&
        where.role == role::output) {
      CHECK(s.relative_l2 > 1e-3);  // about 2e-3 in a third of the elements, between b and c
      CHECK(s.relative_l2 < 2e-3);
      CHECK(s.repeats_differ);
      CHECK(s.different == 3);
    }
    if (where.op == "act") CHECK(!s.repeats_differ);  // reads other values
  }
  // Once for each pair of executions.
  REQUIRE(measured.nondeterministic.size() == 3);
  CHECK(measured.nondeterministic[0].where.op == "fc");
  CHECK(measured.nondeterministic[0].cause == "nondeterministic");
}

TEST_CASE("other commands are other programs: nothing is called nondeterministic") {
  run_builder a = tiny{}.run(), b = with(dtype::f32, 1, 1, "fc", 1 + 1e-3).run();
  for (const char* other : {"y --run b.h5", "x --run b.h5 --more"}) {
    const auto measured = analysis::measure_envelope(
        std::vector<model::run>{named(a, "a.h5", "x --run a.h5"), named(b, "b.h5", other)});
    CHECK(measured.nondeterministic.empty());
  }
}

TEST_CASE(
    "within the envelope is within, though the model accuses; outside is not, though the model allows") {
  run_builder a = tiny{}.run(), b = with(dtype::f32, 1, 1, "fc", 1 + 1e-3).run(),
              inside = with(dtype::f32, 1, 1, "fc", 1 - 1.1e-3).run(),
              outside = with(dtype::f32, 1, 1, "fc", 1 + 4e-3).run(),
              elsewhere = with(dtype::f32, 0, 2, "residual", 1 + 1e-6).run();
  CHECK(compare(a.run(), inside.run()).verdict == outcome::differ);
  const auto good = analysis::measure_envelope(std::vector<model::run>{a.run(), b.run()}).envelope;
  CHECK(judged(a, inside, good).verdict == outcome::agree);
  CHECK(first(judged(a, outside, good)).starts_with("decoder.layer.1/fc "));
  CHECK(first(judged(a, elsewhere, good)).starts_with("decoder.layer.2/residual "));
  // Good runs that are equal allow no bit.
  run_builder one = tiny{.type = dtype::bf16}.run(), other = tiny{.type = dtype::bf16}.run(),
              wide = tiny{}.run();
  const auto none = analysis::measure_envelope(std::vector<model::run>{one.run(), other.run()}).envelope;
  CHECK(compare(wide.run(), one.run()).verdict == outcome::agree);
  const auto c = judged(wide, one, none);
  CHECK(c.verdict == outcome::differ);
  CHECK(c.first_divergence->rule == "ND908");
}

TEST_CASE("what the envelope does not know is counted and left to the model") {
  run_builder a = tiny{.steps = 1}.run(), b = tiny{.steps = 1}.run();
  const auto good = analysis::measure_envelope(std::vector<model::run>{a.run(), b.run()}).envelope;
  run_builder x = tiny{}.run(), y = with(dtype::f32, 1, 1, "fc", 1.5).run();
  const auto c = judged(x, y, good);
  CHECK(c.envelope->covered == 24);
  CHECK(c.envelope->not_covered == 24);
  CHECK(first(c).starts_with("decoder.layer.1/fc "));
}

TEST_CASE("a candidate is judged by the error of a trusted run") {
  for (const level l : {level::tensors, level::sketch}) {
    const auto at_level = [&](tiny t) {
      t.keep = l;
      return t.run();
    };
    run_builder reference = at_level(tiny{}), trusted = at_level(tiny{.type = dtype::bf16}),
                again = at_level(tiny{.type = dtype::bf16}),
                off = at_level(with(dtype::bf16, 1, 1, "fc", 1.2)),
                narrow = at_level(tiny{.type = dtype::f16});
    const model::envelope good = analysis::measure_trusted(reference.run(), trusted.run());
    CHECK(judged(reference, again, good).verdict == outcome::agree);
    CHECK(judged(reference, again, good).totals.undecided == 0);
    CHECK(judged(reference, narrow, good).verdict == outcome::agree);
    const auto c = judged(reference, off, good);
    CHECK(first(c).starts_with("decoder.layer.1/fc "));
    CHECK(c.roots.size() == 1);
    // Trusted is wrong there, too: not named.
    const model::envelope wrong = analysis::measure_trusted(reference.run(), off.run());
    run_builder also = at_level(with(dtype::bf16, 1, 1, "fc", 1.2));
    CHECK(judged(reference, also, wrong).verdict == outcome::agree);
  }
}

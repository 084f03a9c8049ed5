#include "capture/macros/statements.hpp"

#include <doctest/doctest.h>

#include "capture/support/recording.hpp"

int evaluated_when_off();

TEST_CASE("without a session arguments are not evaluated") {
  statements::counted c;
  statements::declarations(1, numdiff::current_context());
  statements::probes(c, 0);
  statements::only_traced(c.x, 2);
  CHECK(c.evaluated == 0);
  CHECK(evaluated_when_off() == 0);
}

TEST_CASE("with a session each argument is evaluated once") {
  test::recording r;
  statements::counted c;
  statements::declarations(1, numdiff::current_context());
  statements::probes(c, 0);
  // input, weight, accumulate, cast (two), tensor
  CHECK(c.evaluated == 6);
  CHECK(evaluated_when_off() == 0);
  CHECK(r.session().statistics().refused == 0);
  const auto all = r.finish();
  CHECK(test::captures(all).size() == 10);
  CHECK(test::ops(all).size() == 2);
}

TEST_CASE("an op that the selection leaves out evaluates nothing") {
  test::recording r(numdiff::level::sketch, [](numdiff::session_options& o) { o.select = "nothing"; });
  statements::counted c;
  statements::probes(c, 1);
  CHECK(c.evaluated == 1);  // NUMDIFF_TENSOR's: outside an op only the runtime knows the selection
  CHECK(test::captures(r.finish()).empty());
}

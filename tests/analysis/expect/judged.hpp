#pragma once
// What replay must say of an execution: honest, or a fault with its cause.
#include <doctest/doctest.h>

#include <string>

#include "analysis/expect/emulate.hpp"

namespace numdiff::test {

inline judgement answer(const execution& e, std::size_t write = 0) {
  const replayed r = e.replay();
  REQUIRE_MESSAGE(r.done, r.why_not);
  return r.outputs.at(write);
}

inline void accepts(const execution& e, std::size_t write = 0) {
  const judgement j = answer(e, write);
  INFO("ratio " << j.ratio << " of " << j.limit << ", reason: " << j.reason << ", hint " << j.cause_hint);
  CHECK(j.v == analysis::verdict::within);
  CHECK(j.cause_hint.empty());
}

inline void blames(const execution& e, const std::string& cause, std::size_t write = 0) {
  const judgement j = answer(e, write);
  INFO("ratio " << j.ratio << " of " << j.limit << ", factor " << j.factor << ", reason: " << j.reason);
  CHECK(j.v == analysis::verdict::beyond);
  CHECK(j.cause_hint == cause);
}

}  // namespace numdiff::test

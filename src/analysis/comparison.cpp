#include "analysis/comparison.hpp"

#include <limits>

namespace numdiff::analysis {

distances::distances() {
  relative_l2 = reference_l2 = worst_absolute = worst_relative = worst_ulp = bias = bias_z = cosine = factor =
      factor_residual = std::numeric_limits<double>::quiet_NaN();
}

const char* name_of(verdict v) noexcept {
  switch (v) {
    case verdict::equal: return "equal";
    case verdict::within: return "within";
    case verdict::beyond: return "beyond";
    case verdict::undecided: return "undecided";
    case verdict::not_comparable: return "not_comparable";
  }
  return "undecided";
}

const char* name_of(outcome o) noexcept {
  switch (o) {
    case outcome::agree: return "agree";
    case outcome::differ: return "differ";
    case outcome::incomplete: return "incomplete";
  }
  return "incomplete";
}

const char* name_of(health h) noexcept {
  return h == health::ok ? "ok" : "non-finite";
}

const char* name_of(bringer b) noexcept {
  switch (b) {
    case bringer::unknown: return "";
    case bringer::local_op: return "local op";
    case bringer::communication: return "communication";
    case bringer::given: return "input";
  }
  return "";
}

const char* name_of(side s) noexcept {
  switch (s) {
    case side::both: return "both";
    case side::reference: return "reference";
    case side::test: return "test";
  }
  return "both";
}

std::string text_of(const place& p) {
  std::string text = p.scope;
  if (!p.op.empty()) text += (text.empty() ? "" : " / ") + p.op;
  if (p.call > 0) text += " (call " + std::to_string(p.call) + ")";
  if (!p.tensor.empty()) text += " : " + p.tensor;
  return text;
}

}  // namespace numdiff::analysis

#pragma once
// A case: two versions of a program, each recorded in a process of its own, and what numdiff says of the
// pair.
#include <cstdint>
#include <string>

#include "analysis/comparison.hpp"
#include "array.hpp"
#include "record.hpp"

namespace numdiff::testing {

using reproduce::array, reproduce::mapped, reproduce::normal, reproduce::program, reproduce::record,
    reproduce::rounded;

// Records both at level tensors, every rank in a forked child, and compares. Throws std::runtime_error when a
// child fails.
analysis::comparison compared(const program& reference, const program& test, std::int32_t reference_ranks = 1,
                              std::int32_t test_ranks = 1);

// "op symptom cause" of the first divergence, "none".
std::string first(const analysis::comparison& c);
// The op where non-finite values began, "none".
std::string nonfinite(const analysis::comparison& c);
// "op symptom" of every place that lost information, joined by commas.
std::string lost(const analysis::comparison& c);
// A number behind the first divergence; NaN when it is not told.
double number(const analysis::comparison& c, const std::string& name);
// Everything found, for messages of failed tests.
std::string told(const analysis::comparison& c);

}  // namespace numdiff::testing

#pragma once
// One rule of numdiff as three small programs: the reference, one with the rule's fault, and a near miss that
// looks like the fault and is none, or another one.
#include <cstdint>
#include <vector>

#include "array.hpp"
#include "numdiff/numdiff.hpp"
#include "record.hpp"

namespace reproduce {

enum class version { reference, test, near_miss, near_miss_reference, good };

// What numdiff says when `test` and `near_miss` are compared with `reference`.
struct expectation {
  const char* near_miss = "agree";            // or the rule of its first divergence, or "incomplete"
  const char* found_in = "first_divergence";  // member of the JSON report where the rule stands
  std::int32_t ranks = 1;
  std::int32_t reference_ranks = 0;  // 0: as many as the others
  bool good_run = false;             // all are compared by the envelope of the reference and another good run
  bool own_reference = false;        // the near miss is compared with near_miss_reference (other inputs)
};

// Constructed once in the file of its rule, at namespace scope; all of them are listed by reproductions().
class reproduction {
 public:
  using function = void (*)(version, numdiff::session&, std::int32_t rank);
  reproduction(const char* rule, function run, expectation expected = {});

  const char* rule;  // "ND401"
  function run;
  expectation expected;
};

// By rule.
std::vector<const reproduction*> reproductions();

}  // namespace reproduce

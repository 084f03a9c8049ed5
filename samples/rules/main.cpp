// reproduce: records the runs that show a rule of numdiff.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

#include "reproduction.hpp"

namespace {

using namespace reproduce;

int list() {
  std::printf("%-6s  %-16s  %s\n", "rule", "found in", "near miss");
  for (const reproduction* r : reproductions())
    std::printf("%-6s  %-16s  %s\n", r->rule, r->expected.found_in, r->expected.near_miss);
  return 0;
}

void write(const reproduction& r, const std::string& folder) {
  struct part {
    version which;
    const char* name;
  };
  for (const part p :
       {part{version::reference, "reference"}, part{version::test, "test"},
        part{version::near_miss, "near_miss"}, part{version::near_miss_reference, "near_miss_reference"},
        part{version::good, "good"}}) {
    const bool is_reference = p.which == version::reference || p.which == version::near_miss_reference;
    if (p.which == version::near_miss_reference && !r.expected.own_reference) continue;
    if (p.which == version::good && !r.expected.good_run) continue;
    const std::int32_t own = is_reference ? r.expected.reference_ranks : 0;
    record([&](numdiff::session& s, std::int32_t rank) { r.run(p.which, s, rank); },
           folder + "/" + r.rule + "." + p.name + ".h5", own > 0 ? own : r.expected.ranks);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return list();
  const std::string name = argv[1];
  if (argc > 3 || name.empty() || name[0] == '-') {
    std::printf(
        "Usage: reproduce              lists the rules\n"
        "       reproduce RULE [DIR]   writes RULE.reference.h5, RULE.test.h5, RULE.near_miss.h5, and\n"
        "                              RULE.near_miss_reference.h5 where the near miss needs its own,\n"
        "                              RULE.good.h5 where good runs are the measure\n");
    return name == "--help" ? 0 : 2;
  }
  const auto all = reproductions();
  const auto found = std::ranges::find_if(all, [&](const reproduction* r) { return r->rule == name; });
  if (found == all.end()) {
    std::fprintf(stderr, "reproduce: no rule '%s': reproduce lists them\n", name.c_str());
    return 2;
  }
  try {
    write(**found, argc > 2 ? argv[2] : ".");
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "reproduce: %s\n", problem.what());
    return 2;
  }
  return 0;
}

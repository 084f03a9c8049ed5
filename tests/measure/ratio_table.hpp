#pragma once
// Quantiles of observed / expected as a Markdown table.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "analysis/expect/replay.hpp"

namespace numdiff::measure {

using analysis::judgement;

struct observed {
  std::vector<double> ratios;
  double closest = 0;  // largest ratio / limit
  int beyond = 0, exact = 0;

  void take(const judgement& j) {
    if (j.ratio > 0)
      ratios.push_back(j.ratio);
    else
      ++exact;
    if (j.limit > 0) closest = std::max(closest, j.ratio / j.limit);
    beyond += j.v == analysis::verdict::beyond;
  }
};

inline double quantile(std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

inline void print(const std::map<std::string, observed>& table) {
  std::printf(
      "| kind, formats | exact | with errors | median | 1 %% | 99 %% | max | largest ratio / limit | beyond "
      "|\n|---|---|---|---|---|---|---|---|---|\n");
  for (auto [name, o] : table) {
    std::sort(o.ratios.begin(), o.ratios.end());
    std::printf("| %s | %d | %zu | %.2f | %.2f | %.2f | %.2f | %.2f | %d |\n", name.c_str(), o.exact,
                o.ratios.size(), quantile(o.ratios, 0.5), quantile(o.ratios, 0.01), quantile(o.ratios, 0.99),
                quantile(o.ratios, 1), o.closest, o.beyond);
  }
}

}  // namespace numdiff::measure

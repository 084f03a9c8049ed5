// Prints docs/measured/accumulators.md: products of 256 x 1024 x 256 added up in known ways, and what the
// judge calls them. Exits 1 when one is called what it is not, or not told although its stored bits tell it.
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "analysis/expect/accumulators.hpp"

using namespace numdiff;
using namespace numdiff::test;

namespace {

constexpr std::size_t rows = 256, columns = 256, length = 1024;

struct named_spread {
  const char* name;
  spread_of s;
};
constexpr named_spread spreads[] = {{"Gaussian", spread_of::normal},
                                    {"positive", spread_of::positive},
                                    {"Student t", spread_of::heavy},
                                    {"an outlier channel", spread_of::outliers}};
constexpr dtype outputs[] = {dtype::f32, dtype::bf16, dtype::f16};

using row_of_table = std::map<std::string, int>;

struct tally {
  std::map<std::string, row_of_table> named;  // truth -> called -> how often
  int wrong = 0, products = 0;
  double seconds = 0;
};

// Share of the elements that differ once they are stored.
double apart(const values& x, const values& y, dtype out) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    count += static_cast<std::size_t>(ways::through(out, x[i]) != ways::through(out, y[i]));
  return static_cast<double>(count) / static_cast<double>(x.size());
}

// `apart_from`: share of the elements in which the product differs from the nearest way of that name.
void take(tally& t, const way& truth, const judgement& j, const std::string& declared,
          const std::function<double(const std::string&)>& apart_from, const char* where) {
  // Below one element in a thousand, the format of the output hides the accumulator.
  constexpr double hidden = 1e-3;
  const bool honest = declared == truth.accumulator;
  const bool alike = j.reason.find(" alike, and not the declared ") != std::string::npos;
  std::string called = !j.accumulator.empty() ? j.accumulator : alike ? "cannot tell" : "as declared";
  // Tensor cores' own accumulator is FP32 to its vendors, and may be within what is expected of it.
  const bool tensor_core = j.v == analysis::verdict::within &&
                           !std::string("products cut at 23 to 25 bits").compare(truth.accumulator);
  bool right = true;
  if (honest)
    right = called == "as declared" && j.v == analysis::verdict::within;
  else if (called == "as declared")
    right = tensor_core || apart_from(declared) <= hidden;
  else if (called == "cannot tell")
    right = j.reason.find(truth.accumulator) != std::string::npos;
  else
    right = called.find(truth.accumulator) != std::string::npos || apart_from(called) <= hidden;
  if (called == "as declared" && honest) called = truth.accumulator;
  ++t.products;
  ++t.named[truth.what][called];
  if (alike)
    std::fprintf(stderr, "alike: %s, %s, declared %s: %s\n", truth.what, where, declared.c_str(),
                 j.reason.c_str());
  if (right) return;
  ++t.wrong;
  std::fprintf(stderr, "wrong: %s, %s, declared %s: %s (%s), ratio %g\n", truth.what, where, declared.c_str(),
               called.c_str(), j.reason.c_str(), j.ratio);
}

void print(const tally& t) {
  std::set<std::string> columns_of_table;
  for (const auto& [truth, row] : t.named)
    for (const auto& [called, count] : row) columns_of_table.insert(called);
  std::printf("| made by");
  for (const std::string& c : columns_of_table) std::printf(" | %s", c.c_str());
  std::printf(" |\n|---");
  for (std::size_t i = 0; i < columns_of_table.size(); ++i) std::printf("|---");
  std::printf("|\n");
  for (const way& w : all_ways()) {
    std::printf("| %s", w.what);
    for (const std::string& c : columns_of_table) {
      const row_of_table& row = t.named.at(w.what);
      const auto at = row.find(c);
      if (at == row.end())
        std::printf(" | ");
      else
        std::printf(" | %d", at->second);
    }
    std::printf(" |\n");
  }
  std::printf("\n%d products, %d wrong, %.2f s each.\n\n", t.products, t.wrong, t.seconds / t.products);
}

}  // namespace

int main() {
  std::map<dtype, tally> plain;
  tally declared;
  const std::set<std::string> others = {"a bf16 accumulator", "an f16 accumulator", "inputs rounded to tf32",
                                        "products cut at 13 bits", "partial sums rounded to bf16"};
  sampler random(77);
  for (const named_spread& s : spreads) {
    const factors_of_product f(random, s.s, rows, columns, length);
    std::vector<values> sums;
    for (const way& w : all_ways()) sums.push_back(f.by(w));
    for (const dtype out : outputs) {
      const std::string where = std::string(s.name) + ", " + name_of(out);
      const auto judged = [&](tally& t, std::size_t w, const std::string& as) {
        const auto start = std::chrono::steady_clock::now();
        const judgement j = told(f, sums[w], out, as);
        t.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const auto apart_from = [&](const std::string& name) {
          double least = 1;
          for (std::size_t v = 0; v < sums.size(); ++v) {
            if (name.find(all_ways()[v].accumulator) != std::string::npos)
              least = std::min(least, apart(sums[v], sums[w], out));
          }
          return least;
        };
        take(t, all_ways()[w], j, as, apart_from, where.c_str());
      };
      for (std::size_t w = 0; w < sums.size(); ++w) judged(plain[out], w, "an f32 accumulator");
      if (s.s != spread_of::normal || out == dtype::f16) continue;
      for (const std::string& as : others) {
        for (std::size_t w = 0; w < sums.size(); ++w) judged(declared, w, as);
      }
    }
  }
  std::printf(
      "# Accumulators told from stored bits\n\n"
      "Products of 256 x 1024 x 256 with FP32 factors, made in the ways of the first column by emulators "
      "that the "
      "judge does not share, and what the\njudge calls them: how often, over Gaussian, positive, Student t "
      "(3 "
      "degrees) and outlier-channel data. `as declared`: not told apart from the\ndeclared accumulator. A "
      "line is "
      "wrong when another accumulator is named, an honest one is beyond its expectation, or none is named "
      "although\nmore than one stored element in a thousand differs from the declared way; 25 aligned bits "
      "may also be within what is "
      "expected of FP32. "
      "`tests/measure/accumulators.sh` makes this page and fails when one is wrong.\n\n");
  int wrong = 0;
  for (const dtype out : outputs) {
    std::printf("## Declared as FP32, stored as %s\n\n", name_of(out));
    print(plain[out]);
    wrong += plain[out].wrong;
  }
  std::printf(
      "## Declared as something else\n\nDeclared as a bf16 or f16 accumulator, TF32 inputs, 13 bits, or "
      "partial sums in bf16, each on Gaussian data and stored in f32 and "
      "bf16.\n\n");
  print(declared);
  wrong += declared.wrong;
  std::printf("Wrong in all: %d.\n", wrong);
  return wrong > 0 ? 1 : 0;
}

#include "report/text.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "report/synthetic.hpp"

using namespace numdiff;

namespace {

// Compares with tests/report/golden/<name>; on a difference the text is left beside the test program.
void check_golden(const std::string& name, const std::string& text) {
  std::ifstream file(std::string(NUMDIFF_GOLDEN) + "/" + name, std::ios::binary);
  std::stringstream golden;
  golden << file.rdbuf();
  if (file && golden.str() == text) return;
  const auto actual = std::filesystem::temp_directory_path() / ("numdiff_golden_" + name);
  std::ofstream(actual, std::ios::binary) << text;
  FAIL_CHECK("tests/report/golden/" << name << " differs from " << actual.string() << ":\n" << text);
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> list;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) list.push_back(line);
  return list;
}

}  // namespace

TEST_CASE("golden reports") {
  check_golden("differ.txt", report::text(test::differing(), {}));
  check_golden("agree.txt", report::text(test::agreeing(), {}));
  check_golden("incomplete.txt", report::text(test::incomplete(), {}));
  check_golden("narrow.txt", report::text(test::differing(), {false, 60, 3}));
}

TEST_CASE("the last line is the verdict in fixed words") {
  for (const auto& [c, start] : {std::pair{test::differing(), "numdiff: differ: first at "},
                                 std::pair{test::agreeing(), "numdiff: agree: "},
                                 std::pair{test::incomplete(), "numdiff: incomplete: "}}) {
    CHECK(report::last_line(c).starts_with(start));
    CHECK(lines(report::text(c, {})).back() == report::last_line(c));
  }
  CHECK(report::last_line(test::agreeing()) ==
        "numdiff: agree: 1200 of 1200 matched captures decided, 200 equal");
  auto c = test::differing();
  c.first_divergence.reset();
  CHECK(report::last_line(c) ==
        "numdiff: differ: non-finite first at head / logits : y (step 4, micro-batch 0, forward): "
        "fully-masked-row; health: non-finite");
  c.nonfinite_origin.reset();
  c.health = analysis::health::ok;
  CHECK(report::last_line(c) == "numdiff: differ: 15 of 1200 matched captures beyond expectation");
  CHECK(report::last_line({}) == "numdiff: incomplete: 0 of 0 matched captures decided");
}

TEST_CASE("lines fit the width, but for the last") {
  auto list = lines(report::text(test::differing(), {}));
  list.pop_back();
  for (const std::string& line : list) CHECK_MESSAGE(line.size() <= 80, line);
}

TEST_CASE("lists are bounded and the rest is counted") {
  auto c = test::differing();
  for (int i = 0; i < 1000; ++i) {
    auto lost = c.information_lost.front();
    lost.where.op = "cast" + std::to_string(i);
    c.information_lost.push_back(lost);
    c.warnings.push_back("warning");
    c.manifest_differences.push_back({"key" + std::to_string(i), manifest_class::numeric, "1", "2"});
  }
  const std::string text = report::text(c, {});
  CHECK(lines(text).size() < 120);
  CHECK(text.find("  and 991 more\n") != std::string::npos);  // information lost and warnings
  CHECK(text.find("  and 993 more\n") != std::string::npos);  // settings
}

TEST_CASE("colour changes no words") {
  std::string coloured = report::text(test::differing(), {true, 80, 10});
  CHECK(coloured.find("\x1b[1;31m") != std::string::npos);
  for (auto at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b'))
    coloured.erase(at, coloured.find('m', at) - at + 1);
  CHECK(coloured == report::text(test::differing(), {}));
  CHECK(report::text(test::differing(), {}).find('\x1b') == std::string::npos);
}

TEST_CASE("a result that differs says when part was not compared") {
  auto c = test::differing();
  c.complete = false;
  CHECK(report::text(c, {}).find("The runs differ, and part was not compared.") != std::string::npos);
}

#include "report/json.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <limits>

#include "report/schema.hpp"
#include "report/synthetic.hpp"

using namespace numdiff;
using nlohmann::json;

namespace {

test::schema report_schema() {
  std::ifstream file(NUMDIFF_SCHEMA);
  REQUIRE(file);
  return test::schema(json::parse(file));
}

void check_valid(const json& report) {
  for (const std::string& violation : report_schema().violations(report)) FAIL_CHECK(violation);
}

}  // namespace

TEST_CASE("reports fit the published schema") {
  for (const auto& c : {test::differing(), test::agreeing(), test::incomplete(), analysis::comparison{}})
    check_valid(json::parse(report::json(c)));
}

TEST_CASE("the schema check finds what is wrong") {
  const json good = json::parse(report::json(test::differing()));
  const test::schema schema = report_schema();
  json bad = good;
  bad.erase("verdict");
  CHECK(schema.violations(bad) == std::vector<std::string>{"/: misses verdict"});
  bad = good;
  bad["verdict"] = "maybe";
  CHECK(schema.violations(bad).size() == 1);
  bad = good;
  bad["findings"][0].erase("cause");
  CHECK(schema.violations(bad) == std::vector<std::string>{"/findings/0: misses cause"});
  bad = good;
  bad["totals"]["test"]["captures"] = -1;
  CHECK(schema.violations(bad).size() == 1);
  bad = good;
  bad["first_divergence"]["evidence"]["ratio"] = "big";
  CHECK(schema.violations(bad).size() == 1);
}

TEST_CASE("the content is that of the comparison") {
  const json j = json::parse(report::json(test::differing()));
  CHECK(j["schema"] == "numdiff-report/1");
  CHECK(j["verdict"] == "differ");
  CHECK(j["health"] == "non-finite");
  const json& first = j["first_divergence"];
  CHECK(first["step"] == 3);
  CHECK(first["update"].is_null());
  CHECK(first["scope"] == "decoder.layer.2.mlp");
  CHECK(first["op"] == "fc2");
  CHECK(first["call"] == 0);
  CHECK(first["role"] == "output");
  CHECK(first["phase"] == "forward");
  CHECK(first["ranks"] == json{0, 1});
  CHECK(first["cause"] == "narrow-accumulator");
  CHECK(first["evidence"]["reference_value"].get<double>() == 0.1234567890123);
  CHECK(j["roots"].size() == 2);
  CHECK(j["information_lost"].size() == 13);  // JSON leaves nothing out
  CHECK(j["findings"].size() == test::differing().findings.size());
  CHECK(j["worst"].size() == 12);
  CHECK(j["worst"][1]["distances"]["from"] == "sketch");
  CHECK(j["worst"][1]["distances"]["worst_ulp"].is_null());
  CHECK(j["manifest_differences"][3]["test"].is_null());
  const json& t = j["totals"];
  CHECK(t["matched"].get<int>() == t["equal"].get<int>() + t["within"].get<int>() + t["beyond"].get<int>() +
                                       t["undecided"].get<int>() + t["not_comparable"].get<int>());
  for (const char* side : {"reference", "test"})
    CHECK(t[side]["captures"].get<int>() ==
          t[side]["matched"].get<int>() + t[side]["auxiliary"].get<int>() + t[side]["bridged"].get<int>() +
              t[side]["only_there"].get<int>() + t[side]["dropped"].get<int>());
}

TEST_CASE("numbers that are not finite are strings, doubles read back exactly") {
  auto c = test::differing();
  const double third = 1.0 / 3.0;
  c.first_divergence->evidence = {{"a", std::numeric_limits<double>::quiet_NaN()},
                                  {"b", std::numeric_limits<double>::infinity()},
                                  {"c", -std::numeric_limits<double>::infinity()},
                                  {"d", third},
                                  {"e", std::numeric_limits<double>::denorm_min()}};
  const json j = json::parse(report::json(c));
  check_valid(j);
  const json& e = j["first_divergence"]["evidence"];
  CHECK(e["a"] == "NaN");
  CHECK(e["b"] == "Infinity");
  CHECK(e["c"] == "-Infinity");
  CHECK(e["d"].get<double>() == third);
  CHECK(e["e"].get<double>() == std::numeric_limits<double>::denorm_min());
}

TEST_CASE("names that are not UTF-8 do not break the report") {
  auto c = test::agreeing();
  c.reference.path = "run_\xff.h5";
  CHECK(json::parse(report::json(c))["reference"]["path"] == "run_\xef\xbf\xbd.h5");
}

// check_report SCHEMA REPORT: prints the verdict of a report that fits the schema, or what does not.
#include <fstream>
#include <iostream>

#include "report/schema.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream schema_file(argv[1]), report_file(argv[2]);
  const nlohmann::json report = nlohmann::json::parse(report_file);
  const auto violations = numdiff::test::schema(nlohmann::json::parse(schema_file)).violations(report);
  for (const std::string& violation : violations) std::cout << argv[2] << ": " << violation << '\n';
  if (!violations.empty()) return 1;
  std::cout << argv[2] << ": " << report["verdict"].get<std::string>() << '\n';
  return 0;
}

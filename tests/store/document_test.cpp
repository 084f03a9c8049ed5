#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "numdiff/terms.hpp"
#include "store/tables.hpp"

using namespace numdiff;
using store::member;

namespace {

std::string content(const char* path) {
  std::ifstream in(path);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string& page() {
  static const std::string text = content(NUMDIFF_TEST_PAGE);
  return text;
}

// The rows "| `field` | type | not recorded | ... |" under "### /name".
std::vector<std::string> documented(const std::string& name) {
  const std::size_t begin = page().find("### /" + name + "\n");
  REQUIRE(begin != std::string::npos);
  std::istringstream lines(page().substr(begin + 4, page().find("\n#", begin + 4) - begin - 4));
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    std::size_t at = 0;
    for (int bars = 0; bars < 4 && at != std::string::npos; ++bars)
      at = line.find('|', at + (bars > 0 ? 1 : 0));
    rows.push_back(line.substr(0, at + 1));
  }
  return rows;
}

std::string number(double v) {
  if (std::isnan(v)) return "NaN";
  return std::to_string(static_cast<std::int64_t>(v));
}

template <class Row>
std::vector<std::string> expected(std::size_t most = 1000) {
  static const std::map<store::scalar, std::string> names = {
      {store::scalar::u16, "u16"}, {store::scalar::u32, "u32"}, {store::scalar::u64, "u64"},
      {store::scalar::i32, "i32"}, {store::scalar::i64, "i64"}, {store::scalar::f64, "f64"}};
  const Row row = store::not_recorded<Row>();
  std::vector<std::string> rows;
  for (const member& m : store::members_of<Row>()) {
    if (rows.size() == most) break;
    const auto* at = reinterpret_cast<const std::byte*>(&row) + m.offset;
    std::string value;
    if (m.type == store::scalar::f64) {
      double v = 0;
      std::memcpy(&v, at, sizeof(v));
      value = number(v);
    } else {
      std::int64_t v = 0;
      std::memcpy(&v, at, store::bytes_of(m.type));
      if (m.type == store::scalar::i32) v = static_cast<std::int32_t>(v);
      value = std::to_string(v);
    }
    const std::string type = names.at(m.type) + (m.extent > 1 ? "[" + std::to_string(m.extent) + "]" : "");
    rows.push_back("| `" + m.name + "` | " + type + " | " + value + " |");
  }
  return rows;
}

// `text` members are u32 in the file, and the page says so once.
std::vector<std::string> with_texts(std::vector<std::string> rows) {
  for (std::string& row : rows)
    if (const std::size_t at = row.find("| text |  |"); at != std::string::npos)
      row.replace(at, 11, "| u32 | 0 |");
  return rows;
}

template <class Row>
void check(const std::string& name, std::size_t most = 1000) {
  INFO(name);
  CHECK(with_texts(documented(name)) == expected<Row>(most));
}

}  // namespace

TEST_CASE("the page lists the fields of every table, their types and defaults") {
  check<detail::op_row>("ops");
  check<detail::capture_row>("captures");
  check<detail::cast_row>("casts");
  check<detail::scales_row>("scales");
  check<detail::collective_row>("collectives");
  check<detail::event_row>("events");
  check<detail::manifest_row>("manifest");
  check<detail::extra_row>("extras");
  check<store::string_row>("strings");
  check<detail::shape_row>("shapes");
  check<store::commit_row>("commits", 9);  // then one per table
}

TEST_CASE("the page lists every dtype with its number") {
  for (std::uint16_t d = 0; d < dtype_count; ++d) {
    const std::string row = "| " + std::to_string(d) + " | `" + name_of(static_cast<dtype>(d)) + "` |";
    INFO(row);
    CHECK(page().find(row) != std::string::npos);
  }
}

TEST_CASE("the page lists the numbers of vocabularies") {
  const std::string terms = content(NUMDIFF_TEST_TERMS);
  std::istringstream lines(terms);
  std::string vocabulary;
  int listed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find("enum "); at == 0) {
      const std::size_t name = line.find("class ") == 5 ? 11 : 5;
      vocabulary = line.substr(name, line.find(' ', name) - name);
    }
    const std::size_t row_at = page().find("\n| " + vocabulary + " | ");
    for (std::size_t equal = line.find(" = "); !vocabulary.empty() && equal != std::string::npos;
         equal = line.find(" = ", equal + 1)) {
      const std::size_t name = line.find_last_of(" {", equal - 1) + 1;
      std::size_t end = equal + 3;
      while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0) ++end;
      if (end == equal + 3) continue;
      const std::string entry =
          line.substr(equal + 3, end - equal - 3) + " " + line.substr(name, equal - name);
      INFO(vocabulary << ": " << entry);
      REQUIRE(row_at != std::string::npos);
      CHECK(page().substr(row_at, page().find('\n', row_at + 1) - row_at).find(entry) != std::string::npos);
      ++listed;
    }
  }
  CHECK(listed > 60);
}

TEST_CASE("the page shows the script that the views test runs") {
  CHECK(page().find("```python\n" + content(NUMDIFF_TEST_SCRIPT) + "```") != std::string::npos);
}

// Integers, texts and structure, with arrays in memory.
#include <doctest/doctest.h>

#include <random>

#include "analysis/arrays/array_comparison.hpp"
#include "memory_file.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::arrays_verdict;
using analysis::structure_kind;

namespace {

using content = std::map<std::string, memory_array>;

analysis::array_comparison compared(content a, content b, const analysis::array_options& how = {}) {
  memory_file reference(std::move(a)), test(std::move(b));
  return analysis::compare_arrays(reference, test, how);
}

template <class T>
memory_array integers(const std::vector<T>& values) {
  const std::string type = (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
  return array_of(part_of<T>(model::part_kind::integer, type.c_str()), values, {values.size()});
}

template <class A, class B>
void check_integers() {
  std::mt19937_64 random(5);
  std::vector<A> a(3000);
  std::vector<B> b(3000);
  __extension__ using wide = __int128;
  std::uint64_t different = 0;
  wide largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<A>(random());
    b[i] = random() % 2 == 0 ? static_cast<B>(a[i]) : static_cast<B>(random());
    const wide d = static_cast<wide>(b[i]) - static_cast<wide>(a[i]);
    different += d != 0;
    largest = std::max(largest, d < 0 ? -d : d);
  }
  const auto c = compared({{"/x", integers(a)}}, {{"/x", integers(b)}});
  REQUIRE(c.different.size() == 1);
  CHECK(c.different[0].different == different);
  std::string digits;
  for (; largest != 0; largest /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(largest % 10)));
  CHECK(c.different[0].absolute.exact == digits);
}

}  // namespace

TEST_CASE("integers of every width and sign are exact") {
  check_integers<std::int8_t, std::int8_t>();
  check_integers<std::uint8_t, std::uint8_t>();
  check_integers<std::int16_t, std::uint16_t>();
  check_integers<std::uint32_t, std::int32_t>();
  check_integers<std::int64_t, std::int64_t>();
  check_integers<std::uint64_t, std::uint64_t>();
  check_integers<std::int64_t, std::uint64_t>();
  check_integers<std::uint64_t, std::int8_t>();
}

TEST_CASE("names of one file only") {
  const auto c =
      compared({{"/a", integers<int>({1})}, {"/b", integers<int>({1})}},
               {{"/b", integers<int>({1})}, {"/c", integers<int>({1})}, {"/d", integers<int>({1})}});
  CHECK(c.verdict == arrays_verdict::differ);
  REQUIRE(c.structure.size() == 3);
  CHECK(c.structure[0].kind == structure_kind::only_reference);
  CHECK(c.structure[2].name == "/d");
  CHECK(c.equal == 1);
  CHECK(c.unmatched == 3);
  CHECK(c.total() == 4);
}

TEST_CASE("a type that decides, and one that a tolerance lets pass") {
  const content a = {{"/x", integers<int>({1, 2})}}, b = {{"/x", integers<std::int64_t>({1, 2})}};
  CHECK(compared(a, b).verdict == arrays_verdict::differ);
  analysis::array_options how;
  how.accepts.relative = 1e-9;
  const auto c = compared(a, b, how);
  CHECK(c.verdict == arrays_verdict::agree);
  REQUIRE(c.structure.size() == 1);
  CHECK(!c.structure[0].decides);
}

TEST_CASE("unread members and arrays are never equal") {
  memory_array x = integers<int>({1, 2});
  x.info.unread = "is packed";
  const auto whole = compared({{"/x", x}}, {{"/x", x}});
  CHECK(whole.verdict == arrays_verdict::incomplete);
  CHECK(whole.left_out == 1);
  memory_array y = integers<int>({1, 2});
  model::element_part member;
  member.name = ".r";
  member.unread = "references are not followed";
  y.info.parts.push_back(member);
  const auto part = compared({{"/y", y}}, {{"/y", y}});
  CHECK(part.verdict == arrays_verdict::incomplete);
  REQUIRE(part.skipped.size() == 1);
  CHECK(part.skipped[0].name == "/y.r");
}

TEST_CASE("selection") {
  const content a = {{"/g/x", integers<int>({1})}, {"/g2/x", integers<int>({1})}, {"/y", integers<int>({1})}};
  content b = a;
  b.at("/g2/x") = integers<int>({2});
  const auto verdict = [&](std::vector<std::string> names) {
    analysis::array_options how;
    how.names = std::move(names);
    return compared(a, b, how).verdict;
  };
  CHECK(verdict({}) == arrays_verdict::differ);
  CHECK(verdict({"g"}) == arrays_verdict::agree);
  CHECK(verdict({"/g"}) == arrays_verdict::agree);
  CHECK(verdict({"g*"}) == arrays_verdict::differ);
  CHECK(verdict({"*/x"}) == arrays_verdict::differ);
  CHECK(verdict({"y", "g"}) == arrays_verdict::agree);
  CHECK(verdict({"x"}) == arrays_verdict::incomplete);
}

#include "report/number.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>

#include "report/meaning.hpp"
#include "report/place.hpp"
#include "report/style.hpp"
#include "report/table.hpp"

using namespace numdiff;

TEST_CASE("numbers for people") {
  CHECK(report::counted(std::uint64_t{0}) == "0");
  CHECK(report::counted(std::uint64_t{999}) == "999");
  CHECK(report::counted(std::uint64_t{1000}) == "1,000");
  CHECK(report::counted(std::uint64_t{1234567}) == "1,234,567");
  CHECK(report::counted(std::int64_t{-1234}) == "-1,234");
  CHECK(report::counted(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
  CHECK(report::counted(1, "op") == "1 op");
  CHECK(report::counted(2, "op") == "2 ops");
  CHECK(report::counted(0, "entry", "entries") == "0 entries");
  CHECK(report::percent(0, 0) == "0 %");
  CHECK(report::percent(9999999, 10000000) == "99.9 %");
  CHECK(report::percent(3, 3) == "100 %");
  CHECK(report::bytes(1023) == "1023 B");
  CHECK(report::bytes(1536) == "1.5 KiB");
}

TEST_CASE("values read back exactly") {
  for (const double x : {0.1, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, -0.0, 12345678.9})
    CHECK(std::strtod(report::exact(x).c_str(), nullptr) == x);
  CHECK(report::exact(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(report::exact(-std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("text is shortened in the middle and wrapped at words") {
  CHECK(report::shortened("abcdefghij", 10) == "abcdefghij");
  CHECK(report::shortened("abcdefghijk", 10) == "abcd..hijk");
  report::style s;
  s.width = 12;
  CHECK(report::wrapped(s, "- ", 2, "one two three four") == "- one two\n  three four\n");
  CHECK(report::wrapped(s, "- ", 2, "a_word_longer_than_the_line b") ==
        "- a_word_longer_than_the_line\n  b\n");
  CHECK(report::wrapped(s, "- ", 2, "") == "- \n");
}

TEST_CASE("a table gives way in its flexible column") {
  report::style s;
  s.width = 30;
  report::table t({{"name", report::align::left, report::cut::middle}, {"n", report::align::right}});
  t.add({"a.very.long.name.that.does.not.fit.at.all", "12"});
  t.add({"b", "3"});
  CHECK(t.text(s) ==
        "  name                       n\n"
        "  a.very.long...fit.at.all  12\n"
        "  b                          3\n");
  report::table places({{"n"}, {"op", report::align::left, report::cut::front}});
  places.add({"12", "decoder.layer.11.attn / scores : y"});
  CHECK(places.text(s) ==
        "  n   op\n"
        "  12  ..r.11.attn / scores : y\n");
}

TEST_CASE("names have meanings") {
  CHECK(*report::cause_meaning("narrow-accumulator") != '\0');
  CHECK(*report::symptom_meaning("bias") != '\0');
  CHECK(*report::cause_meaning("no-such-cause") == '\0');
}

TEST_CASE("names of the program do not reach the terminal as commands") {
  CHECK(report::printable("plain \xc3\xa9") == "plain \xc3\xa9");
  CHECK(report::printable("two\nlines\t\x1b[31mred\x7f") == "two\\nlines\\x09\\x1b[31mred\\x7f");
  CHECK(report::printable("\xc2\x9b\xc2\xa9\xc2") == "\\x9b\xc2\xa9\xc2");
  const report::style s;
  CHECK(report::wrapped(s, "", 0, "a\x1b") == "a\\x1b\n");
  report::table t({{"name"}});
  t.add({"a\nb"});
  CHECK(t.text(s).find("a\\nb") != std::string::npos);
  analysis::place p;
  p.tensor = "x\x1b";
  CHECK(report::where_text(p).find('\x1b') == std::string::npos);
}

#include "arguments.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

using namespace numdiff::program;

namespace {

arguments parsed(std::initializer_list<const char*> words) {
  std::vector<const char*> argv = {"numdiff"};
  argv.insert(argv.end(), words);
  return parse(static_cast<int>(argv.size()), argv.data());
}

std::string refused(std::initializer_list<const char*> words) {
  try {
    parsed(words);
  } catch (const usage_error& problem) {
    return problem.what();
  }
  return "accepted";
}

using strings = std::vector<std::string>;

}  // namespace

TEST_CASE("three runs, an envelope, one run alone") {
  CHECK(parsed({"a.h5", "t.h5", "b.h5"}).files == strings{"a.h5", "t.h5", "b.h5"});
  CHECK(parsed({"--envelope", "n.h5", "a.h5", "b.h5"}).envelope == "n.h5");
  CHECK(refused({"--envelope", "n.h5", "a.h5", "t.h5", "b.h5"}) ==
        "usage: give a trusted run between the two, or an envelope, not both: see numdiff --help");
  const arguments check = parsed({"check", "--strict", "--step", "3", "a.h5"});
  CHECK(check.command == command::check);
  CHECK(check.files == strings{"a.h5"});
  CHECK(check.strict);
  const arguments envelope = parsed({"envelope", "a.h5", "b.h5", "-o", "n.h5"});
  CHECK(envelope.command == command::envelope);
  CHECK(envelope.files == strings{"a.h5", "b.h5"});
  CHECK(envelope.output == "n.h5");
  CHECK(refused({"envelope", "a.h5", "-o", "n.h5"}) ==
        "usage: give two or more runs that are known to be good: see numdiff --help");
}

TEST_CASE("two files are compared") {
  const arguments a = parsed({"a.h5", "b.h5"});
  CHECK(a.command == command::compare);
  CHECK(a.files == strings{"a.h5", "b.h5"});
  CHECK(a.select.empty());
  CHECK_FALSE(a.json);
  CHECK(a.top == 10);
}

TEST_CASE("options in any place") {
  const arguments a =
      parsed({"--step", "0:10", "a.h5", "--scope", "decoder.*", "--scope=head", "b.h5", "--op", "fc?",
              "--rank", "0-2", "--strict", "--fail-on", "nonfinite", "--top", "5", "--color", "always"});
  CHECK(a.files == strings{"a.h5", "b.h5"});
  CHECK(a.select.steps.size() == 1);
  CHECK(a.select.scopes == strings{"decoder.*", "head"});
  CHECK(a.select.ops == strings{"fc?"});
  CHECK(a.select.ranks == std::vector<std::int32_t>{0, 1, 2});
  CHECK(a.strict);
  CHECK(a.fail_on_nonfinite);
  CHECK(a.top == 5);
  CHECK(a.colour == colour::always);
}

TEST_CASE("--json takes a file only after =") {
  arguments a = parsed({"--json", "a.h5", "b.h5"});
  CHECK(a.json);
  CHECK(a.json_file.empty());
  CHECK(a.files == strings{"a.h5", "b.h5"});
  a = parsed({"a.h5", "b.h5", "--json=report.json"});
  CHECK(a.json);
  CHECK(a.json_file == "report.json");
}

TEST_CASE("commands") {
  arguments a = parsed({"show", "a.h5"});
  CHECK(a.command == command::show);
  CHECK(a.files == strings{"a.h5"});
  CHECK(a.tensor.empty());
  a = parsed({"show", "--json", "a.h5", "output.y", "--step", "3"});
  CHECK(a.tensor == "output.y");
  CHECK(a.json);
  CHECK(a.select.steps.size() == 1);
  a = parsed({"repair", "a.h5", "-o", "fixed.h5"});
  CHECK(a.command == command::repair);
  CHECK(a.output == "fixed.h5");
  CHECK(parsed({"views", "a.h5"}).command == command::views);
}

TEST_CASE("help and version come before everything else") {
  arguments a = parsed({"--help"});
  CHECK(a.command == command::help);
  CHECK(a.text.find("Examples:") != std::string::npos);
  CHECK(a.text.find("numdiff run_a.h5 run_b.h5") != std::string::npos);
  a = parsed({"show", "--help"});
  CHECK(a.command == command::help);
  CHECK(a.text.find("numdiff show run_a.h5") != std::string::npos);
  a = parsed({"--version"});
  CHECK(a.command == command::version);
  CHECK(a.text.starts_with("numdiff 0."));
}

TEST_CASE("usage errors are one line that says what to do") {
  for (const auto& message :
       {refused({}), refused({"a.h5"}), refused({"a.h5", "b.h5", "c.h5", "d.h5"}),
        refused({"--frobnicate", "a.h5", "b.h5"}), refused({"--step", "x", "a.h5", "b.h5"}),
        refused({"--step", "", "a.h5", "b.h5"}), refused({"--rank", "-1", "a.h5", "b.h5"}),
        refused({"--top", "0", "a.h5", "b.h5"}), refused({"--top", "many", "a.h5", "b.h5"}),
        refused({"--color", "pink", "a.h5", "b.h5"}), refused({"--fail-on", "rain", "a.h5", "b.h5"}),
        refused({"show"}), refused({"repair"}), refused({"show", "a.h5", "b", "c"}),
        refused({"views", "a.h5", "--strict"})}) {
    CHECK_MESSAGE(message.starts_with("usage: "), message);
    CHECK_MESSAGE(message.find('\n') == std::string::npos, message);
  }
  CHECK(refused({"a.h5"}) == "usage: give a second run to compare a.h5 with: see numdiff --help");
}

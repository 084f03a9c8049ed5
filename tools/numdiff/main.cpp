// numdiff: parses, dispatches, and turns what went wrong into one line and exit status 2.
#include <csignal>
#include <exception>
#include <new>

#include "commands.hpp"
#include "output.hpp"

namespace {

using namespace numdiff::program;

exit_code run(const arguments& args) {
  switch (args.command) {
    case command::compare: return compare(args);
    case command::check: return check(args);
    case command::envelope: return envelope(args);
    case command::show: return show(args);
    case command::repair: return repair(args);
    case command::views: return views(args);
    case command::explain: return explain(args);
    case command::help:
    case command::version: write_standard_output(args.text); break;
  }
  return exit_code::agree;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader such as head may leave early: the verdict stands
  try {
    return static_cast<int>(run(parse(argc, argv)));
  } catch (const std::bad_alloc&) {
    write_error("out of memory: give --step, --scope or --rank to look at less");
  } catch (const std::exception& problem) {
    write_error(problem.what());
  }
  return static_cast<int>(exit_code::trouble);
}

// numdiff: parses, dispatches, and turns what went wrong into one line and exit status 2.
#include <csignal>
#include <exception>
#include <memory>
#include <new>
#include <string_view>

#include "commands.hpp"
#include "output.hpp"
#include "team.hpp"

namespace {

using namespace numdiff::program;
namespace store = numdiff::store;

exit_code run(const arguments& args, store::team* team) {
  const bool shared = args.command == command::compare || args.command == command::check ||
                      args.command == command::drift || args.command == command::envelope;
  if (is_helper(team) && !shared) return exit_code::agree;
  switch (args.command) {
    case command::compare: return compare(args, team);
    case command::check: return check(args, team);
    case command::drift: return drift(args, team);
    case command::envelope: return envelope(args, team);
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
  std::unique_ptr<numdiff::store::team> team;
  const auto say = [&](std::string_view problem) {
    if (!is_helper(team.get())) write_error(problem);
  };
  try {
    team = launched_team();
    return static_cast<int>(run(parse(argc, argv), team.get()));
  } catch (const std::bad_alloc&) {
    say("out of memory: give --step, --scope or --rank to look at less");
  } catch (const std::exception& problem) {
    say(problem.what());
  }
  // mpirun ends all processes when one fails: the first one has to say why before.
  return static_cast<int>(is_helper(team.get()) ? exit_code::agree : exit_code::trouble);
}

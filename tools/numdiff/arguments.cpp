#include "arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>

#include "numdiff/version.hpp"

namespace numdiff::program {

namespace {

constexpr const char* compare_examples = R"(Examples:
  numdiff run_a.h5 run_b.h5                       where do they part, and why?
  numdiff --step 0:10 --scope decoder.layer.3 run_a.h5 run_b.h5
  numdiff --json=report.json run_a.h5 run_b.h5    also a report for programs
  numdiff --strict --fail-on nonfinite run_a.h5 run_b.h5
  numdiff --rtol 1e-5 a.npz b.h5                  any HDF5, .npz and .npy files, by name
  numdiff show run_a.h5                           what is in a run?
  numdiff show run_a.h5 attn.scores.0.forward/output.y
  numdiff explain ND401                           what does a rule of a report mean?

Exit status: 0 the runs agree, 1 they differ, 2 trouble (usage, a file that cannot
be read), 3 what was compared agrees, but not everything was compared.
GNU numdiff is another program; on Debian it owns /usr/bin/numdiff.)";

constexpr const char* check_examples = R"(Examples:
  numdiff check run_a.h5                           is this run sound by itself?
  numdiff check --step 0:10 --json=report.json run_a.h5

Exit status: 0 healthy, 1 a fault, 2 trouble (usage, a file that cannot be read),
3 what was judged is in order, but not everything was judged.)";

constexpr const char* drift_examples = R"(Examples:
  numdiff drift run_a.h5 run_b.h5                  where and when do they drift apart?
  numdiff drift --step 0:1000:10 --json=drift.json run_a.h5 run_b.h5

Exit status: 0 steady, 1 a layer drifts, 2 trouble (usage, a file that cannot be
read), 3 nothing drifts, but not everything was compared.)";

constexpr const char* envelope_examples = R"(Examples:
  numdiff envelope good1.h5 good2.h5 good3.h5 -o noise.h5
  numdiff --envelope noise.h5 run_a.h5 run_b.h5    judge by these distances)";

constexpr const char* show_examples = R"(Examples:
  numdiff show run_a.h5                            manifest, ops and captures
  numdiff show --step 3 --op 'attn.*' --top 50 run_a.h5
  numdiff show run_a.h5 'output.y'                 statistics and histograms
  numdiff show run_a.h5 '/step_3/*/logits.0.forward/output.y')";

constexpr const char* repair_examples = R"(Examples:
  numdiff repair run_a.h5                          the old file becomes run_a.h5.old
  numdiff repair --output fixed.h5 run_a.h5        run_a.h5 stays as it is)";

constexpr const char* views_examples = R"(Examples:
  numdiff views run_a.h5                           writes run_a.views.h5
  h5dump -n run_a.views.h5)";

constexpr const char* explain_examples = R"(Examples:
  numdiff explain                                  all rules, one line each
  numdiff explain ND401                            what a report's rule means
  numdiff explain truncating-cast                  every rule that names this cause)";

// Names the commands in the usage line of the program itself.
struct formatter : CLI::Formatter {
  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (app->get_parent() != nullptr) return CLI::Formatter::make_usage(app, name);
    return "Usage: numdiff [OPTIONS] REFERENCE [TRUSTED] TEST\n       numdiff check|show|repair|views "
           "[OPTIONS] RUN\n"
           "       numdiff drift [OPTIONS] REFERENCE TEST\n"
           "       numdiff envelope RUN RUN... -o FILE\n"
           "       numdiff explain [RULE|CAUSE]\n\n";
  }
};

// The parser's help with options as they are typed, and without double empty lines.
std::string tidy(std::string help) {
  const auto replace_all = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = help.find(from); at != std::string::npos; at = help.find(from, at))
      help.replace(at, from.size(), to);
  };
  replace_all("--json{-}    ", "--json[=FILE]");
  replace_all("PATTERN ...", "PATTERN    ");
  replace_all("runs REFERENCE TEST ...", "REFERENCE TEST         ");
  replace_all("run RUN REQUIRED", "RUN             ");
  replace_all("tensor TENSOR", "TENSOR       ");
  replace_all("] run [tensor]", "] RUN [TENSOR]");
  replace_all("] run\n", "] RUN\n");
  replace_all("runs REFERENCE TEST ... REQUIRED", "REFERENCE TEST                  ");
  replace_all("drift [OPTIONS] runs...\n", "drift [OPTIONS] REFERENCE TEST\n");
  replace_all("] runs...\n", "] RUN...\n");
  replace_all("rule RULE|CAUSE", "RULE|CAUSE     ");
  replace_all("] [rule]", "] [RULE|CAUSE]");
  replace_all("\n\n\n", "\n\n");
  return help;
}

// Texts of options whose syntax is checked after parsing.
struct raw_options {
  std::optional<std::string> steps, ranks;
  std::string json, fail_on;
  std::string run;  // of the commands that take one
};

void add_selection(CLI::App& app, arguments& args, raw_options& raw) {
  const char* group = "What to look at";
  app.add_option("--step", raw.steps, "steps: 3, 0:10 (without 10), 0:100:20; commas")
      ->type_name("STEPS")
      ->group(group);
  app.add_option("--scope", args.select.scopes,
                 "scopes or array names that match (* and ?), and what is in them")
      ->type_name("PATTERN")
      ->group(group)
      ->allow_extra_args(false);
  app.add_option("--op", args.select.ops, "ops whose name matches (* and ?)")
      ->type_name("PATTERN")
      ->group(group)
      ->allow_extra_args(false);
  app.add_option("--rank", raw.ranks, "ranks: 0, 0-3; with commas")->type_name("RANKS")->group(group);
}

void add_output(CLI::App& app, arguments& args, raw_options& raw) {
  const char* group = "Output";
  app.add_flag("--json{-}", raw.json, "report for programs, to standard output or a file")->group(group);
  const std::map<std::string, colour> colours = {
      {"auto", colour::automatic}, {"always", colour::always}, {"never", colour::never}};
  app.add_option("--color", args.colour, "auto (on a terminal), always or never")
      ->transform(CLI::CheckedTransformer(colours, CLI::ignore_case).description(""))
      ->type_name("WHEN")
      ->group(group);
  app.add_option("--top", args.top, "rows of each list; the rest is counted (10)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}).description(""))
      ->group(group);
}

void add_tolerances(CLI::App& app, arguments& args) {
  const char* group = "Files of arrays (HDF5, .npz, .npy; runs need no tolerance)";
  const auto size = CLI::Range(0.0, 1e308).description("");
  CLI::Option* relative =
      app.add_option("--rtol", args.rtol, "accept |test - reference| <= A + R x |reference|")
          ->type_name("R")
          ->check(size)
          ->group(group);
  CLI::Option* absolute =
      app.add_option("--atol", args.atol, "the A of it")->type_name("A")->check(size)->group(group);
  app.add_option("--max-ulp", args.max_ulp, "accept N ulps of the format instead")
      ->type_name("N")
      ->group(group)
      ->excludes(relative)
      ->excludes(absolute);
}

void add_strict(CLI::App& app, arguments& args) {
  app.add_flag("--strict", args.strict, "undecided captures make the result incomplete")->group("Verdict");
}

// The parser's message without its line breaks.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

[[noreturn]] void refuse(const std::string& what) {
  throw usage_error(fmt::format("usage: {}: see numdiff --help", what));
}

void finish(arguments& args, const raw_options& raw) {
  try {
    if (raw.steps) args.select.steps = model::parse_steps(*raw.steps);
    if (raw.ranks) args.select.ranks = model::parse_ranks(*raw.ranks);
  } catch (const std::invalid_argument& problem) {
    throw usage_error(fmt::format("usage: {}", problem.what()));
  }
  args.json = !raw.json.empty();
  if (raw.json != "-") args.json_file = raw.json;
  args.fail_on_nonfinite = raw.fail_on == "nonfinite";
  if (args.command == command::explain) return;
  if (args.command == command::envelope) {
    if (args.files.size() < 2) refuse("give two or more runs that are known to be good");
  } else if (args.command == command::drift) {
    if (args.files.size() != 2) refuse("give two runs, the reference first");
  } else if (args.command != command::compare) {
    args.files = {raw.run};
  } else {
    if (args.files.empty()) refuse("give two runs, the reference first");
    if (args.files.size() == 1) refuse(fmt::format("give a second run to compare {} with", args.files[0]));
    if (args.files.size() > 3)
      refuse(fmt::format("two runs are compared, or three, {} were given", args.files.size()));
    if (args.files.size() == 3 && !args.envelope.empty())
      refuse("give a trusted run between the two, or an envelope, not both");
  }
}

}  // namespace

arguments parse(int argc, const char* const* argv) {
  arguments args;
  raw_options raw;
  CLI::App app("Finds out where two runs of the same computation part, and why.", "numdiff");
  app.footer(compare_examples);
  const auto help = std::make_shared<formatter>();
  help->column_width(28);
  app.formatter(help);
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", fmt::format("numdiff {}.{}.{}", NUMDIFF_VERSION_MAJOR,
                                                NUMDIFF_VERSION_MINOR, NUMDIFF_VERSION_PATCH));
  app.add_option("runs", args.files,
                 "two run files; the first is the reference; a trusted run may stand between")
      ->type_name("REFERENCE TEST");
  add_selection(app, args, raw);
  add_strict(app, args);
  app.add_option("--envelope", args.envelope, "distances of good runs, made by numdiff envelope")
      ->type_name("FILE")
      ->group("Verdict");
  app.add_option("--map", args.map, "names of the reference for those of the test run")
      ->type_name("FILE")
      ->group("Alignment");
  app.add_option("--fail-on", raw.fail_on, "nonfinite: NaN and Inf count as a difference")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"nonfinite"}).description(""))
      ->group("Verdict");
  add_tolerances(app, args);
  add_output(app, args, raw);

  CLI::App* check = app.add_subcommand("check", "judge one run by itself, without a reference");
  check->footer(check_examples);
  check->add_option("run", raw.run, "run file")->type_name("RUN")->required();
  add_selection(*check, args, raw);
  add_strict(*check, args);
  add_output(*check, args, raw);
  check->callback([&] { args.command = command::check; });

  CLI::App* drift = app.add_subcommand("drift", "how the distance of two runs grows over steps");
  drift->footer(drift_examples);
  drift->add_option("runs", args.files, "two run files of the same steps; the first is the reference")
      ->type_name("REFERENCE TEST")
      ->required();
  add_selection(*drift, args, raw);
  add_output(*drift, args, raw);
  drift->callback([&] { args.command = command::drift; });

  CLI::App* envelope = app.add_subcommand("envelope", "measure how far apart good runs are");
  envelope->footer(envelope_examples);
  envelope->add_option("runs", args.files, "two or more run files")->type_name("RUN")->required();
  envelope->add_option("--output,-o", args.output, "write here")->type_name("FILE")->required();
  envelope->callback([&] { args.command = command::envelope; });

  CLI::App* show = app.add_subcommand("show", "show what is in a run, or one tensor of it");
  show->footer(show_examples);
  show->add_option("run", raw.run, "run file")->type_name("RUN")->required();
  show->add_option("tensor", args.tensor, "path of a tensor, or its end from a '/' or '.' on")
      ->type_name("TENSOR");
  add_selection(*show, args, raw);
  add_output(*show, args, raw);
  show->callback([&] { args.command = command::show; });

  CLI::App* repair = app.add_subcommand("repair", "write a run and its tail into one closed file");
  repair->footer(repair_examples);
  repair->add_option("run", raw.run, "run file")->type_name("RUN")->required();
  repair->add_option("--output,-o", args.output, "write here; otherwise in place")->type_name("FILE");
  repair->callback([&] { args.command = command::repair; });

  CLI::App* views = app.add_subcommand("views", "write its tensors by name, for h5dump and h5py");
  views->footer(views_examples);
  views->add_option("run", raw.run, "run file")->type_name("RUN")->required();
  views->callback([&] { args.command = command::views; });

  CLI::App* explain = app.add_subcommand("explain", "say what a rule or cause of a report means");
  explain->footer(explain_examples);
  explain->add_option("rule", args.rule, "id of a rule, or name of a cause")->type_name("RULE|CAUSE");
  explain->callback([&] { args.command = command::explain; });

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    args.command = command::version;
    args.text = std::string(version.what()) + '\n';
    return args;
  } catch (const CLI::CallForHelp&) {
    args.command = command::help;
    args.text = tidy(app.help());
    return args;
  } catch (const CLI::ParseError& problem) {
    refuse(one_line(problem.what()));
  }
  finish(args, raw);
  return args;
}

}  // namespace numdiff::program

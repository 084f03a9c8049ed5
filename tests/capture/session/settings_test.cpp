#include "numdiff/session.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

#include "capture/support/recording.hpp"

using numdiff::level;
using test::environment_variable;
using test::recording;

namespace {

bool complains(const char* text) {
  return std::strstr(numdiff::session::last_error(), text) != nullptr;
}

}  // namespace

TEST_CASE("a session says on what it ran") {
  recording r(level::stats, [](numdiff::session_options& o) {
    o.run_id = "some-run";
    o.select = "a.*";
    o.steps = "0:5";
    o.budget = 123456;
  });
  REQUIRE(r.session().active());
  CHECK(std::string(r.session().last_error()).empty());
  r.session().manifest("learning_rate", "0.1", numdiff::manifest_class::numeric);
  const auto all = r.finish();
  CHECK(test::manifest_value(all, "level") == "stats");
  CHECK(test::manifest_value(all, "select") == "a.*");
  CHECK(test::manifest_value(all, "steps") == "0:5");
  CHECK(test::manifest_value(all, "budget") == "123456");
  CHECK(test::manifest_value(all, "learning_rate") == "0.1");
  CHECK(test::manifest_value(all, "numdiff.version").find('.') != std::string::npos);
  CHECK(test::manifest_value(all, "pid") == std::to_string(getpid()));
  for (const char* key :
       {"hostname", "command", "program", "start_time", "cpu.model", "cpu.threads", "fp.rounding", "compiler",
        "digest.version", "sketch.version", "storage.queue", "libraries"}) {
    CHECK_MESSAGE(test::manifest_value(all, key) != "(not there)", key);
  }
}

TEST_CASE("after a proper end the tail is gone, and another session may be opened") {
  recording r;
  CHECK(std::filesystem::exists(r.tail()));
  r.finish();
  CHECK_FALSE(std::filesystem::exists(r.tail()));
  recording again;
  CHECK(again.session().active());
}

TEST_CASE("one session at a time") {
  recording r;
  recording second;
  CHECK_FALSE(second.session().active());
  CHECK(complains("open already"));
  CHECK(r.session().active());
}

TEST_CASE("the environment wins over the options and the configuration file") {
  test::temporary_directory directory;
  const std::string config = directory.file("numdiff.conf");
  std::ofstream(config) << "# comment\n level = tensors # here too\n\nsteps=1:2\nselect = x.*\n";
  const environment_variable level_variable("NUMDIFF_LEVEL", "stats");
  const environment_variable queue("NUMDIFF_QUEUE", "2M");
  recording r(level::sketch, [&](numdiff::session_options& o) {
    o.config = config.c_str();
    o.select = "y.*";
  });
  const auto all = r.finish();
  CHECK(test::manifest_value(all, "level") == "stats");
  CHECK(test::manifest_value(all, "steps") == "1:2");
  CHECK(test::manifest_value(all, "select") == "x.*");
}

TEST_CASE("values without meaning turn capture off with a reason") {
  const auto refused = [](const char* variable, const char* value) {
    const environment_variable v(variable, value);
    recording r;
    return !r.session().active() && complains(variable);
  };
  CHECK(refused("NUMDIFF_LEVEL", "everything"));
  CHECK(refused("NUMDIFF_BUDGET", "lots"));
  CHECK(refused("NUMDIFF_QUEUE", "-3"));
  CHECK(refused("NUMDIFF_RANK", "x"));
  CHECK(refused("NUMDIFF_WORLD_SIZE", "0"));
  CHECK(refused("NUMDIFF_WAIT_MS", "1.5"));
  CHECK(refused("NUMDIFF_CONFIG", "/nowhere/numdiff.conf"));
  {
    const environment_variable v("NUMDIFF_STEPS", "many");
    CHECK_FALSE(recording().session().active());
    CHECK(complains("steps"));
  }
  {
    test::temporary_directory directory;
    const std::string config = directory.file("numdiff.conf");
    std::ofstream(config) << "level = stats\nlevle = stats\n";
    const environment_variable v("NUMDIFF_CONFIG", config.c_str());
    CHECK_FALSE(recording().session().active());
    CHECK(complains(":2: not a setting"));
  }
}

TEST_CASE("level off opens nothing, and is no mistake") {
  const environment_variable v("NUMDIFF_LEVEL", "off");
  recording r;
  CHECK_FALSE(r.session().active());
  CHECK(complains("level is off"));
  CHECK_FALSE(std::filesystem::exists(r.file()));
  CHECK_FALSE(std::filesystem::exists(r.tail()));
}

TEST_CASE("ranks write files of their own and need one run id") {
  {
    recording r(level::sketch, [](numdiff::session_options& o) {
      o.world_size = 2;
      o.rank = 1;
    });
    CHECK_FALSE(r.session().active());
    CHECK(complains("NUMDIFF_RUN_ID"));
  }
  recording r(level::sketch, [](numdiff::session_options& o) {
    o.world_size = 2;
    o.rank = 1;
    o.run_id = "shared";
  });
  REQUIRE(r.session().active());
  r.session().close();
  CHECK(std::filesystem::exists(r.file() + ".rank00001"));
}

TEST_CASE("the launcher tells rank, size and the run") {
  const environment_variable rank("OMPI_COMM_WORLD_RANK", "2");
  const environment_variable size("OMPI_COMM_WORLD_SIZE", "4");
  const environment_variable job("OMPI_MCA_ess_base_jobid", "12345");
  recording r;
  REQUIRE(r.session().active());
  r.session().close();
  CHECK(std::filesystem::exists(r.file() + ".rank00002"));
}

TEST_CASE("a rank that is not in the world is refused") {
  recording r(level::sketch, [](numdiff::session_options& o) {
    o.world_size = 2;
    o.rank = 2;
    o.run_id = "shared";
  });
  CHECK_FALSE(r.session().active());
  CHECK(complains("no such rank"));
}

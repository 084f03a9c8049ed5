// Rank, world size and run id as what started the program tells them.
#include "numdiff/detail/runtime/launcher.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "capture/support/recording.hpp"

using numdiff::detail::identity;
using test::environment_variable;

namespace {

using variables = std::vector<std::pair<const char*, const char*>>;

// Who a process is with these variables; the error goes to `error`.
identity asked(const variables& all, std::string& error) {
  std::vector<std::unique_ptr<environment_variable>> set;
  for (const auto& [name, value] : all) set.push_back(std::make_unique<environment_variable>(name, value));
  identity who;
  numdiff::detail::settings none;
  if (!numdiff::detail::collect_identity(who, none, error)) who.rank = -1;
  return who;
}
identity asked(const variables& all) {
  std::string error;
  identity who = asked(all, error);
  INFO(error);
  CHECK(error.empty());
  return who;
}

}  // namespace

TEST_CASE("every launcher tells rank and size, and ranks of one job agree on the run") {
  const std::vector<std::pair<variables, variables>> jobs = {
      {{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_MCA_ess_base_jobid", "77"}},
       {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_MCA_ess_base_jobid", "77"}}},
      {{{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "1"}},
       {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "1"}}},
      {{{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"TORCHELASTIC_RUN_ID", "t"}, {"MASTER_PORT", "29500"}},
       {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"TORCHELASTIC_RUN_ID", "t"}, {"MASTER_PORT", "29500"}}},
      {{{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "4"}},
       {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "4"}}},
  };
  for (const auto& [two, three] : jobs) {
    const identity a = asked(two), b = asked(three);
    CHECK((a.rank == 2 && b.rank == 3));
    CHECK((a.world_size == 4 && b.world_size == 4));
    CHECK(a.run_id.size() == 32);
    CHECK(a.run_id == b.run_id);
  }
}

TEST_CASE("torchrun inside srun counts its own ranks") {
  // One task a node, eight ranks on each: without this all of a node would write one file.
  const variables node = {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "9"},
                          {"RANK", "11"},        {"WORLD_SIZE", "16"},  {"TORCHELASTIC_RUN_ID", "t"}};
  const identity who = asked(node);
  CHECK((who.rank == 11 && who.world_size == 16));
  // A RANK that is left over from something else does not count.
  const identity task =
      asked({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "9"}, {"RANK", "5"}});
  CHECK((task.rank == 1 && task.world_size == 2));
}

TEST_CASE("MPICH over several machines, which names no job, needs a run id") {
  std::string error;
  const variables apart = {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}};
  CHECK(asked(apart, error).rank == -1);
  CHECK(error.find("NUMDIFF_RUN_ID") != std::string::npos);
}

TEST_CASE("ranks never share a file, whatever the run is called") {
  for (const char* name : {"run.h5", "run", "a.b/run.h5.h5"}) {
    std::vector<std::string> files;
    for (const std::int32_t rank : {0, 1, 99999, 100000}) {
      identity who;
      who.world_size = 100001;
      who.rank = rank;
      files.push_back(numdiff::detail::rank_file(name, who));
    }
    for (std::size_t i = 0; i < files.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) CHECK(files[i] != files[j]);
  }
}

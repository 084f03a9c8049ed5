// Records a matrix, its columns spread over the ranks of MPI, with no other word from what started it.
//   mpirun -n N mpi_ranks FILE
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "numdiff/mpi.hpp"
#include "numdiff/numdiff.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  MPI_Init(&argc, &argv);
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_MCA_ess_base_jobid", "PMI_RANK", "PMI_SIZE",
        "SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID", "RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"})
    unsetenv(name);
  int failed = 1;
  {
    int ranks = 1, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const numdiff::mpi_identity who(MPI_COMM_WORLD);
    numdiff::session_options options;
    options.file = argv[1];
    options.wait_ms = 10000;
    who.tell(options);
    const numdiff::session session(options);
    session.mesh("tp", ranks, rank);
    constexpr std::int64_t rows = 20, columns = 60;
    const std::int64_t width = columns / ranks;
    std::vector<float> own;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < width; ++j)
        own.push_back(static_cast<float>(i * columns + rank * width + j));
    NUMDIFF_STEP(0);
    NUMDIFF_OP(op, "load", mystery,
               numdiff::dtypes(numdiff::dtype::f32, numdiff::dtype::f32, numdiff::dtype::f32));
    NUMDIFF_WEIGHT(op, "w", numdiff::view(own.data(), {rows, width}).shard("tp", 1));
    failed = session.active() ? 0 : 1;
    if (failed != 0) std::fprintf(stderr, "%s\n", numdiff::session::last_error());
  }
  MPI_Finalize();
  return failed;
}

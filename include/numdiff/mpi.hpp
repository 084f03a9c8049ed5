#pragma once
// Rank, number of ranks and run id of a session from MPI, whatever started the program. Needs <mpi.h>.
//
//   MPI_Init(&argc, &argv);
//   numdiff::session_options options;
//   const numdiff::mpi_identity who(MPI_COMM_WORLD);
//   who.tell(options);
//   numdiff::session session(options);
#include <mpi.h>

#include <cstdint>
#include <random>

#include "numdiff/session.hpp"

namespace numdiff {
inline namespace v1 {

// Asks a communicator that holds all ranks of the run. Collective: every rank of it constructs one, between
// MPI_Init and MPI_Finalize. A failure of MPI is MPI's own, which by default ends the program.
class mpi_identity {
 public:
  explicit mpi_identity(MPI_Comm all) {
    int size = 1;
    int rank = 0;
    MPI_Comm_size(all, &size);
    MPI_Comm_rank(all, &rank);
    size_ = size;
    rank_ = rank;
    constexpr char digits[] = "0123456789abcdef";
    if (rank == 0) {
      std::random_device random;
      for (int i = 0; i < 32; ++i) run_id_[i] = digits[random() % 16];
    }
    MPI_Bcast(run_id_, sizeof run_id_, MPI_CHAR, 0, all);
  }

  // The options keep a pointer to the run id, which lives as long as this object. The environment wins over
  // all three, as always.
  void tell(session_options& o) const noexcept {
    o.rank = rank_;
    o.world_size = size_;
    o.run_id = run_id_;
  }

 private:
  std::int32_t rank_ = 0, size_ = 1;
  char run_id_[33] = {};
};

}  // namespace v1
}  // namespace numdiff

#include "ranks.hpp"

#include <cstdlib>
#include <stdexcept>

#if MINIGPT_MPI
#include <mpi.h>
#endif

namespace minigpt {

#if MINIGPT_MPI

// Started without mpirun there is one rank, and MPI would only cost time.
ranks::ranks(int* argc, char*** argv) : started_(std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) {
  if (!started_) return;
  MPI_Init(argc, argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
}
ranks::~ranks() {
  if (started_) MPI_Finalize();
}

void ranks::send(const group& g, std::int32_t to, const void* data, std::size_t bytes) const {
  MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, g.members[static_cast<std::size_t>(to)], 0,
           MPI_COMM_WORLD);
}
void ranks::receive(const group& g, std::int32_t from, void* data, std::size_t bytes) const {
  MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, g.members[static_cast<std::size_t>(from)], 0,
           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
void ranks::exchange(const group& g, std::int32_t to, const void* out, std::size_t out_bytes,
                     std::int32_t from, void* in, std::size_t in_bytes) const {
  MPI_Sendrecv(out, static_cast<int>(out_bytes), MPI_BYTE, g.members[static_cast<std::size_t>(to)], 0, in,
               static_cast<int>(in_bytes), MPI_BYTE, g.members[static_cast<std::size_t>(from)], 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

#else

ranks::ranks(int*, char***) {}
ranks::~ranks() = default;
void ranks::send(const group&, std::int32_t, const void*, std::size_t) const {}
void ranks::receive(const group&, std::int32_t, void*, std::size_t) const {}
void ranks::exchange(const group&, std::int32_t, const void*, std::size_t, std::int32_t, void*,
                     std::size_t) const {}

#endif

void ranks::split(std::int64_t tensor_parallel) {
  const auto width = static_cast<std::int32_t>(tensor_parallel);
  if (width < 1 || size_ % width != 0) throw std::runtime_error("--tp must divide the number of ranks");
  tp_.members.clear();
  dp_.members.clear();
  const std::int32_t row = rank_ / width, column = rank_ % width;
  for (std::int32_t i = 0; i < width; ++i) tp_.members.push_back(row * width + i);
  for (std::int32_t i = 0; i < size_ / width; ++i) dp_.members.push_back(i * width + column);
  all_.members.clear();
  for (std::int32_t i = 0; i < size_; ++i) all_.members.push_back(i);
  all_.at = rank_;
  tp_.at = column;
  dp_.at = row;
}

}  // namespace minigpt

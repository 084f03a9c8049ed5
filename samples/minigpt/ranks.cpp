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
  if (started_) {
    MPI_Init(argc, argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  }
  split({});
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

ranks::ranks(int*, char***) {
  split({});
}
ranks::~ranks() = default;
void ranks::send(const group&, std::int32_t, const void*, std::size_t) const {}
void ranks::receive(const group&, std::int32_t, void*, std::size_t) const {}
void ranks::exchange(const group&, std::int32_t, const void*, std::size_t, std::int32_t, void*,
                     std::size_t) const {}

#endif

void ranks::split(const mesh_sizes& sizes) {
  const std::int64_t others = sizes.pipeline * sizes.context * sizes.tensor;
  if (sizes.pipeline < 1 || sizes.context < 1 || sizes.tensor < 1 || size_ % others != 0)
    throw std::runtime_error("--pp times --cp times --tp must divide the number of ranks");
  const auto each = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
  sizes_ = {each(sizes.pipeline), each(size_ / others), each(sizes.context), each(sizes.tensor)};
  make_groups();
}

std::int32_t ranks::coordinate(std::int32_t rank, axis a) const {
  std::int32_t inner = 1;
  for (std::size_t i = index(a) + 1; i < axes; ++i) inner *= sizes_[i];
  return rank / inner % sizes_[index(a)];
}

void ranks::make_groups() {
  for (std::size_t bits = 0; bits < groups_.size(); ++bits) {
    group g;
    g.members.clear();
    for (std::size_t i = 0; i < axes; ++i) {
      if ((bits >> i & 1U) == 0) continue;
      g.over.push_back(static_cast<axis>(i));
      g.name += (g.name.empty() ? "" : ".") + std::string(axis_names[i]);
    }
    for (std::int32_t other = 0; other < size_; ++other) {
      bool belongs = true;
      for (std::size_t i = 0; i < axes; ++i)
        belongs = belongs && ((bits >> i & 1U) != 0 ||
                              coordinate(other, static_cast<axis>(i)) == at(static_cast<axis>(i)));
      if (!belongs) continue;
      if (other == rank_) g.at = g.size();
      g.members.push_back(other);
    }
    groups_[bits] = std::move(g);
  }
}

const group& ranks::over(std::initializer_list<axis> which) const {
  std::size_t bits = 0;
  for (const axis a : which) bits |= std::size_t{1} << index(a);
  return groups_[bits];
}

}  // namespace minigpt

// A team of processes that talk by MPI. MPI starts with the first message: until then the processes may start
// others, which MPI does not allow.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "team_module.hpp"

namespace numdiff::program {

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 30;  // MPI counts in int

class mpi_team final : public store::team {
 public:
  mpi_team(std::size_t number, std::size_t size) : number_(number), size_(size) {}
  ~mpi_team() override {
    if (started_) MPI_Finalize();
  }
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] std::size_t number() const noexcept override { return number_; }

  void send(std::span<const std::byte> message) override {
    start();
    const std::uint64_t bytes = message.size();
    check(MPI_Send(&bytes, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD));
    for (std::size_t at = 0; at < message.size(); at += block_bytes) {
      const auto count = static_cast<int>(std::min(block_bytes, message.size() - at));
      check(MPI_Send(message.data() + at, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
    }
  }

  std::vector<std::byte> receive(std::size_t from) override {
    start();
    const auto source = static_cast<int>(from);
    std::uint64_t bytes = 0;
    check(MPI_Recv(&bytes, 1, MPI_UINT64_T, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    std::vector<std::byte> message(static_cast<std::size_t>(bytes));
    for (std::size_t at = 0; at < message.size(); at += block_bytes) {
      const auto count = static_cast<int>(std::min(block_bytes, message.size() - at));
      check(MPI_Recv(message.data() + at, count, MPI_BYTE, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    return message;
  }

 private:
  static void check(int status) {
    if (status != MPI_SUCCESS) throw std::runtime_error("the processes of numdiff cannot talk by MPI");
  }

  void start() {
    if (started_) return;
    check(MPI_Init(nullptr, nullptr));
    started_ = true;
    int number = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (static_cast<std::size_t>(number) != number_ || static_cast<std::size_t>(size) != size_)
      throw std::runtime_error("the launcher and MPI count the processes of numdiff differently");
  }

  std::size_t number_, size_;
  bool started_ = false;
};

}  // namespace

}  // namespace numdiff::program

extern "C" __attribute__((visibility("default"))) numdiff::store::team* numdiff_open_team(std::size_t number,
                                                                                          std::size_t size);
extern "C" numdiff::store::team* numdiff_open_team(std::size_t number, std::size_t size) {
  return new numdiff::program::mpi_team(number, size);
}

#pragma once
// The ranks of the run as a mesh: world rank = dp * tensor_parallel + tp. Without MPI there is one.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace minigpt {

// Some ranks of the world, in order, and where this one stands among them.
struct group {
  const char* axis;  // of the mesh
  std::vector<std::int32_t> members;
  std::int32_t at = 0;
  mutable std::uint64_t sequence = 0;  // collectives done so far

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(members.size()); }
};

class ranks {
 public:
  // Starts MPI. `tensor_parallel` must divide the number of ranks.
  ranks(int* argc, char*** argv);
  ~ranks();
  ranks(const ranks&) = delete;
  ranks& operator=(const ranks&) = delete;

  void split(std::int64_t tensor_parallel);

  [[nodiscard]] std::int32_t size() const { return size_; }
  [[nodiscard]] std::int32_t rank() const { return rank_; }
  [[nodiscard]] const group& all() const { return all_; }
  [[nodiscard]] const group& dp() const { return dp_; }
  [[nodiscard]] const group& tp() const { return tp_; }

  // To and from a member of a group, by its place there. `exchange` sends and receives at once.
  void send(const group& g, std::int32_t to, const void* data, std::size_t bytes) const;
  void receive(const group& g, std::int32_t from, void* data, std::size_t bytes) const;
  void exchange(const group& g, std::int32_t to, const void* out, std::size_t out_bytes, std::int32_t from,
                void* in, std::size_t in_bytes) const;

 private:
  [[maybe_unused]] bool started_ = false;
  std::int32_t size_ = 1, rank_ = 0;
  group all_{"all", {0}}, dp_{"dp", {0}}, tp_{"tp", {0}};
};

}  // namespace minigpt

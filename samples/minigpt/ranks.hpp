#pragma once
// The ranks of the run as a mesh: world rank = ((pp * DP + dp) * CP + cp) * TP + tp. Without MPI there is
// one.
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace minigpt {

// Pipeline stages; data, context and tensor parallel.
enum class axis { pp, dp, cp, tp };
inline constexpr int axes = 4;
inline constexpr const char* axis_names[axes] = {"pp", "dp", "cp", "tp"};

// Sizes of the mesh; data parallel is what is left of the ranks.
struct mesh_sizes {
  std::int64_t pipeline = 1, context = 1, tensor = 1;
};

// Ranks of the world that differ in some axes of the mesh only, in order, and where this one stands among
// them.
struct group {
  std::string name;        // "dp", or "dp.cp" over two axes
  std::vector<axis> over;  // axes with one rank too
  std::vector<std::int32_t> members{0};
  std::int32_t at = 0;
  mutable std::uint64_t sequence = 0;  // collectives done so far

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(members.size()); }
};

class ranks {
 public:
  // Starts MPI, all ranks data parallel.
  ranks(int* argc, char*** argv);
  ~ranks();
  ranks(const ranks&) = delete;
  ranks& operator=(const ranks&) = delete;

  // The product of the sizes must divide the number of ranks.
  void split(const mesh_sizes& sizes);

  [[nodiscard]] std::int32_t size() const { return size_; }
  [[nodiscard]] std::int32_t rank() const { return rank_; }
  [[nodiscard]] std::int32_t size(axis a) const { return sizes_[index(a)]; }
  [[nodiscard]] std::int32_t at(axis a) const { return coordinate(rank_, a); }
  [[nodiscard]] std::int32_t coordinate(std::int32_t rank, axis a) const;

  [[nodiscard]] const group& over(std::initializer_list<axis> which) const;
  [[nodiscard]] const group& all() const { return over({axis::pp, axis::dp, axis::cp, axis::tp}); }
  [[nodiscard]] const group& pp() const { return over({axis::pp}); }
  [[nodiscard]] const group& dp() const { return over({axis::dp}); }
  [[nodiscard]] const group& cp() const { return over({axis::cp}); }
  [[nodiscard]] const group& tp() const { return over({axis::tp}); }
  // Ranks that hold the same weights and see other tokens.
  [[nodiscard]] const group& data() const { return over({axis::dp, axis::cp}); }

  // To and from a member of a group, by its place there. `exchange` sends and receives at once.
  void send(const group& g, std::int32_t to, const void* data, std::size_t bytes) const;
  void receive(const group& g, std::int32_t from, void* data, std::size_t bytes) const;
  void exchange(const group& g, std::int32_t to, const void* out, std::size_t out_bytes, std::int32_t from,
                void* in, std::size_t in_bytes) const;

 private:
  static std::size_t index(axis a) { return static_cast<std::size_t>(a); }
  void make_groups();

  [[maybe_unused]] bool started_ = false;
  std::int32_t size_ = 1, rank_ = 0;
  std::array<std::int32_t, axes> sizes_{1, 1, 1, 1};
  std::array<group, 1 << axes> groups_;  // by a bit for each axis
};

}  // namespace minigpt

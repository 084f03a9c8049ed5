#pragma once
// Rank, world size, run id and file, from the settings or from what started the program.
#include <sys/random.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "numdiff/detail/runtime/locks.hpp"
#include "numdiff/detail/runtime/settings.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

struct identity {
  std::string run_id;
  std::int32_t world_size = 1, rank = 0, restart = 0;
};

struct launcher {
  const char* rank;
  const char* size;
};
// The innermost first: torchrun is started by srun or mpirun, whose ranks are then those of nodes. It is
// known by the id of its job; without that RANK may be left from anything.
inline constexpr launcher torchrun = {"RANK", "WORLD_SIZE"};
inline constexpr launcher launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI
    {"PMI_RANK", "PMI_SIZE"},                          // MPICH, Intel MPI
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},    // MVAPICH2
    {"SLURM_PROCID", "SLURM_NTASKS"},
    torchrun,
};

// Both numbers, or neither.
inline bool told_by(const launcher& l, std::int64_t& rank, std::int64_t& size) noexcept {
  const char* told_rank = environment(l.rank);
  const char* told_size = environment(l.size);
  return told_rank != nullptr && told_size != nullptr && parse_integer(told_rank, rank) &&
         parse_integer(told_size, size);
}

// 128 bits of some bytes.
inline void hash_bytes(const void* data, std::size_t bytes, std::uint64_t& a, std::uint64_t& b) noexcept {
  a = 0x243f6a8885a308d3U;
  b = 0x13198a2e03707344U;
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) {
    a = (a ^ p[i]) * 0x9e3779b97f4a7c15U;
    a ^= a >> 29U;
    b = (b + p[i]) * 0xd6e8feb86659fd93U;
    b ^= b >> 32U;
  }
}

// The same of a text as 32 hex digits.
inline std::string hex_digest(const std::string& words) {
  std::uint64_t halves[2] = {};
  hash_bytes(words.data(), words.size(), halves[0], halves[1]);
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint64_t half : halves) {
    for (int shift = 60; shift >= 0; shift -= 4) out += digits[half >> static_cast<unsigned>(shift) & 0xfU];
  }
  return out;
}

inline std::string random_run_id() {
  std::uint64_t words[2] = {};
  if (getrandom(words, sizeof words, GRND_NONBLOCK) != sizeof words) {
    words[0] = static_cast<std::uint64_t>(wall_ns());
    words[1] = static_cast<std::uint64_t>(monotonic_ns()) ^ reinterpret_cast<std::uintptr_t>(&words);
  }
  return hex_digest(std::string(reinterpret_cast<const char*>(words), sizeof words));
}

// The parent's id and the clock ticks when it was started, which no later process has together.
inline std::string parent_process() {
  const std::string id = std::to_string(getppid());
  std::FILE* file = std::fopen(("/proc/" + id + "/stat").c_str(), "re");
  if (file == nullptr) return id;
  char words[1024] = {};
  const std::size_t read = std::fread(words, 1, sizeof words - 1, file);
  std::fclose(file);
  // The name may hold anything; the start is the 20th word behind it.
  std::string_view rest(words, read);
  rest.remove_prefix(rest.rfind(')') == std::string_view::npos ? rest.size() : rest.rfind(')'));
  for (int word = 0; word < 20 && !rest.empty(); ++word) {
    const std::size_t space = rest.find(' ');
    rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  }
  return id + ' ' + std::string(rest.substr(0, rest.find(' ')));
}

// The same text on all ranks of one launch, "" when the launcher does not say.
inline std::string job_text() {
  std::string words;
  const auto add = [&](const char* name) {
    if (const char* value = environment(name)) words += std::string(name) + '=' + value + ';';
  };
  if (environment("TORCHELASTIC_RUN_ID") != nullptr) {
    add("TORCHELASTIC_RUN_ID");
    add("TORCHELASTIC_RESTART_COUNT");
    add("MASTER_ADDR");
    add("MASTER_PORT");
  } else if (environment("OMPI_MCA_ess_base_jobid") != nullptr) {
    add("OMPI_MCA_ess_base_jobid");
  } else if (environment("SLURM_JOB_ID") != nullptr) {
    add("SLURM_JOB_ID");
    add("SLURM_STEP_ID");
    add("SLURM_RESTART_COUNT");
  } else if (const char* here = environment("MPI_LOCALNRANKS"); here != nullptr) {
    // MPICH gives its jobs no name. Ranks of one machine have one parent.
    const char* size = environment("PMI_SIZE");
    if (size != nullptr && std::string_view(size) == here) words = "parent=" + parent_process();
  }
  return words;
}

inline bool collect_identity(identity& who, const settings& s, std::string& error) {
  std::int64_t rank = s.rank, size = s.world_size;
  std::int64_t r = 0, n = 0;
  bool told = environment("TORCHELASTIC_RUN_ID") != nullptr && told_by(torchrun, r, n);
  for (const launcher& l : launchers) {
    if (told) break;
    told = told_by(l, r, n);
  }
  if (told && rank < 0) rank = r;
  if (told && size < 1) size = n;
  if (size < 1) size = 1;
  if (rank < 0) rank = 0;
  if (rank >= size || size > INT32_MAX) {
    error = "rank " + std::to_string(rank) + " of " + std::to_string(size) + ": no such rank";
    return false;
  }
  who.rank = static_cast<std::int32_t>(rank);
  who.world_size = static_cast<std::int32_t>(size);
  std::int64_t restart = s.restart;
  if (restart < 0) {
    const char* count = environment("TORCHELASTIC_RESTART_COUNT");
    if (count == nullptr || !parse_integer(count, restart) || restart < 0 || restart > INT32_MAX) restart = 0;
  }
  who.restart = static_cast<std::int32_t>(restart);

  who.run_id = s.run_id;
  if (who.run_id.empty()) {
    const std::string job = job_text();
    if (size == 1) {
      who.run_id = random_run_id();
    } else if (!job.empty()) {
      who.run_id = hex_digest(job);
    } else {
      error = "a run of several ranks needs the same run id on all of them: set NUMDIFF_RUN_ID";
      return false;
    }
  }
  return true;
}

// The program may change its directory before the session ends.
inline std::string absolute_path(const std::string& file) {
  char here[4096];
  if (file.front() == '/' || getcwd(here, sizeof here) == nullptr) return file;
  return std::string(here) + '/' + file;
}

// "run_b.h5" for one rank, else "run_b.rank00003.h5".
inline std::string rank_file(const std::string& file, const identity& who) {
  if (who.world_size == 1) return file;
  constexpr std::string_view suffix = ".h5";
  const bool named =
      file.size() > suffix.size() && file.compare(file.size() - suffix.size(), suffix.size(), suffix) == 0;
  std::string number = std::to_string(who.rank);
  if (number.size() < 5) number.insert(0, 5 - number.size(), '0');
  return (named ? file.substr(0, file.size() - suffix.size()) : file) + ".rank" + number +
         (named ? ".h5" : "");
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

#pragma once
// Codes of stored tensors: from the run file, and from the messages of its tail.
#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/run.hpp"
#include "store/guards.hpp"
#include "store/tables.hpp"

namespace numdiff::store {

class payload_reader final : public model::payload_source {
 public:
  // `in_file`: committed elements; `behind`: codes that follow them.
  payload_reader(std::string path, const lengths& in_file,
                 std::array<std::vector<std::byte>, dtype_count> behind);

  // Throws store::error for a range that is not stored, and when the file was replaced meanwhile.
  void read(dtype type, std::int64_t first, std::span<std::byte> out) const override;

 private:
  [[nodiscard]] const guarded_dataset& dataset(dtype type, const h5::place& at) const;

  std::string path_;
  lengths in_file_;
  std::array<std::vector<std::byte>, dtype_count> behind_;
  std::uint64_t device_ = 0, inode_ = 0;
  mutable std::mutex mutex_;
  mutable std::optional<guarded_file> file_;  // opened by the first read
  mutable std::array<std::optional<guarded_dataset>, dtype_count> data_;
};

}  // namespace numdiff::store

#pragma once
// What a collective did, for NUMDIFF_COLLECTIVE.
#include <cstdint>
#include <initializer_list>

#include "numdiff/abi.h"
#include "numdiff/dtype.hpp"
#include "numdiff/extents.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {

//   numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::sum)
//       .communicator("tp").sequence(i).size(2).ranks({0,
//       1}).count(n).wire(numdiff::dtype::bf16).algorithm("ring")
// Texts must live until the probe returns.
class collective {
 public:
  static constexpr std::uint32_t max_listed_ranks = 64;

  explicit collective(collective_operation operation,
                      numdiff::reduction r = numdiff::reduction::none) noexcept {
    raw_.struct_size = sizeof raw_;
    raw_.operation = static_cast<std::uint16_t>(operation);
    raw_.reduction = static_cast<std::uint16_t>(r);
    raw_.count = -1;
    raw_.peer = -1;
  }

  [[nodiscard]] collective communicator(const char* name) const noexcept {
    collective c = *this;
    c.raw_.communicator = name;
    return c;
  }
  // Number of this collective within its communicator, equal on all of its ranks.
  [[nodiscard]] collective sequence(index n) const noexcept {
    collective c = *this;
    c.raw_.sequence = static_cast<std::uint64_t>(n.value);
    return c;
  }
  [[nodiscard]] collective size(index ranks) const noexcept {
    collective c = *this;
    c.raw_.size = static_cast<std::uint32_t>(ranks.value);
    return c;
  }
  // World ranks in group order; up to 64 in this form, a longer list is not recorded.
  [[nodiscard]] collective ranks(std::initializer_list<std::int32_t> list) const noexcept {
    collective c = *this;
    c.raw_.ranks = nullptr;
    c.raw_.rank_count = 0;
    if (list.size() > max_listed_ranks) return c;
    for (const std::int32_t rank : list) c.listed_[c.raw_.rank_count++] = rank;
    return c;
  }
  // The same for any number; the list must outlive the probe.
  [[nodiscard]] collective ranks(const std::int32_t* list, std::uint32_t count) const noexcept {
    collective c = *this;
    c.raw_.ranks = list;
    c.raw_.rank_count = count;
    return c;
  }
  // Elements this rank contributes.
  [[nodiscard]] collective count(index elements) const noexcept {
    collective c = *this;
    c.raw_.count = elements.value;
    return c;
  }
  // dtype of the values that travel.
  [[nodiscard]] collective wire(dtype t) const noexcept {
    collective c = *this;
    c.raw_.wire_dtype = static_cast<std::uint16_t>(t);
    return c;
  }
  [[nodiscard]] collective algorithm(const char* name) const noexcept {
    collective c = *this;
    c.raw_.algorithm = name;
    return c;
  }
  [[nodiscard]] collective protocol(const char* name) const noexcept {
    collective c = *this;
    c.raw_.protocol = name;
    return c;
  }
  // World rank of the root, or of the other side of a send or receive.
  [[nodiscard]] collective peer(std::int32_t rank) const noexcept {
    collective c = *this;
    c.raw_.peer = rank;
    return c;
  }

  // The description for the C boundary; valid while this object lives.
  [[nodiscard]] numdiff_collective_v1 raw() const noexcept {
    numdiff_collective_v1 r = raw_;
    if (r.ranks == nullptr && r.rank_count != 0) r.ranks = listed_;
    return r;
  }

 private:
  numdiff_collective_v1 raw_{};
  std::int32_t listed_[max_listed_ranks] = {};
};

}  // namespace v1
}  // namespace numdiff

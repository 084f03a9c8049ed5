#include "analysis/arrays/tally.hpp"

#include <algorithm>
#include <cstring>

#include "analysis/arrays/column.hpp"
#include "analysis/arrays/number_tally.hpp"

namespace numdiff::analysis {

namespace {

using model::part_kind;

// Texts and bytes: equal or not.
class content_tally final : public tally {
 public:
  explicit content_tally(const compared_parts& parts) : parts_(parts) {}

  void add(std::span<const std::byte> reference, std::span<const std::byte> test,
           const box_indices& where) override {
    const std::uint64_t width = parts_.reference.bytes, test_width = parts_.test.bytes;
    const std::uint64_t count =
        width == 0 ? test.size() / std::max<std::uint64_t>(test_width, 1) : reference.size() / width;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::byte *r = reference.data() + i * width, *t = test.data() + i * test_width;
      const bool same = parts_.reference.kind == part_kind::text
                            ? text_at(parts_.reference, r) == text_at(parts_.test, t)
                            : std::memcmp(r, t, width) == 0;
      ++compared_;
      if (same) continue;
      ++different_;
      const std::uint64_t flat = where.flat(i);
      if (first_.there && first_.flat < flat) continue;
      first_ = {true, 0, flat, {}, value_text(parts_.reference, r), value_text(parts_.test, t), ""};
    }
  }

  void merge(const tally& next) override {
    const auto& other = dynamic_cast<const content_tally&>(next);
    compared_ += other.compared_;
    different_ += other.different_;
    if (other.first_.there && (!first_.there || other.first_.flat < first_.flat)) first_ = other.first_;
  }

  void finish(array_row& row) const override {
    row.compared = compared_;
    row.different = different_;
    row.first = first_;
  }

 private:
  compared_parts parts_;
  std::uint64_t compared_ = 0, different_ = 0;
  extreme first_;
};

}  // namespace

std::uint64_t box_indices::flat(std::uint64_t i) const noexcept {
  std::uint64_t element = i / inner_, index = 0, weight = 1;
  for (std::size_t d = shape_->size(); d-- > 0;) {
    index += (where_->first[d] + element % where_->count[d]) * weight;
    element /= where_->count[d];
    weight *= (*shape_)[d];
  }
  return index * inner_ + i % inner_;
}

bool is_number(part_kind kind) noexcept {
  return kind == part_kind::integer || kind == part_kind::boolean || kind == part_kind::enumeration ||
         kind == part_kind::real;
}

std::unique_ptr<tally> make_tally(const compared_parts& parts) {
  const part_kind r = parts.reference.kind, t = parts.test.kind;
  if (is_number(r) && is_number(t)) return make_number_tally(parts);
  const bool content = r == t && (r == part_kind::text ||
                                  (r == part_kind::opaque && parts.reference.bytes == parts.test.bytes));
  if (!content) return nullptr;
  return std::make_unique<content_tally>(parts);
}

}  // namespace numdiff::analysis

#include "analysis/arrays/pair_values.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "analysis/arrays/column.hpp"
#include "analysis/arrays/plan.hpp"

namespace numdiff::analysis {

namespace {

using model::array_info;
using model::box;

using tallies = std::vector<std::unique_ptr<tally>>;

constexpr std::uint64_t most_segments = 64;
constexpr std::size_t many_parts = 64;

struct too_large {};  // an element needs more memory than a stream may take

// What one thread reads with.
class reader {
 public:
  reader(const value_pair& arrays, std::unique_ptr<model::array_stream> reference,
         std::unique_ptr<model::array_stream> test)
      : arrays_(arrays), reference_(std::move(reference)), test_(std::move(test)) {}

  void add(const box& where, const std::vector<paired_parts>& parts, tallies& into) {
    const std::uint64_t count = where.size();
    reference_bytes_.resize(count * arrays_.reference.element_bytes);
    test_bytes_.resize(count * arrays_.test.element_bytes);
    if (!reference_->read(where, reference_bytes_) || !test_->read(where, test_bytes_))
      return halve(where, parts, into);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const model::element_part& r = arrays_.reference.parts[parts[p].reference];
      const model::element_part& t = arrays_.test.parts[parts[p].test];
      const std::uint64_t inner = scalars_of(r);
      if (inner == 0) continue;
      into[p]->add(gather(r, arrays_.reference.element_bytes, reference_bytes_, reference_buffer_),
                   gather(t, arrays_.test.element_bytes, test_bytes_, test_buffer_),
                   {arrays_.reference.shape, where, inner});
    }
  }

 private:
  void halve(const box& where, const std::vector<paired_parts>& parts, tallies& into) {
    std::size_t d = 0;
    while (d < where.count.size() && where.count[d] < 2) ++d;
    if (d == where.count.size()) throw too_large();
    box a = where, b = where;
    a.count[d] /= 2;
    b.first[d] += a.count[d];
    b.count[d] -= a.count[d];
    add(a, parts, into);
    add(b, parts, into);
  }

  const value_pair& arrays_;
  std::unique_ptr<model::array_stream> reference_, test_;
  std::vector<std::byte> reference_bytes_, test_bytes_, reference_buffer_, test_buffer_;
};

bool points_to_texts(const array_info& info) {
  return std::ranges::any_of(info.parts, [](const model::element_part& part) {
    return part.kind == model::part_kind::text && part.end == model::text_end::variable;
  });
}

tallies make_tallies(const value_pair& arrays, const std::vector<paired_parts>& parts,
                     const tolerance& accepts) {
  tallies made;
  for (const paired_parts& p : parts)
    made.push_back(make_tally(
        {arrays.reference.parts[p.reference], arrays.test.parts[p.test], arrays.reference.shape, accepts}));
  return made;
}

model::extents index_of(std::uint64_t flat, model::extents shape, const model::extents& inner) {
  shape.insert(shape.end(), inner.begin(), inner.end());
  model::extents index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

std::vector<array_row> rows_of(const tallies& sums, const value_pair& arrays,
                               const std::vector<paired_parts>& parts) {
  std::vector<array_row> rows;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const model::element_part& part = arrays.reference.parts[parts[p].reference];
    array_row row;
    sums[p]->finish(row);
    row.name = part.name;
    row.reference_type = part.type;
    row.test_type = arrays.test.parts[parts[p].test].type;
    for (extreme* e : {&row.first, &row.absolute, &row.relative, &row.ulp, &row.zero})
      if (e->there) e->index = index_of(e->flat, arrays.reference.shape, part.shape);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Runs of cells, each added up by one thread and then merged in order: the sums do not depend on the threads.
class segments {
 public:
  segments(const value_pair& arrays, const std::vector<paired_parts>& parts, const tolerance& accepts,
           const reading_plan& plan, std::uint64_t element_bytes)
      : arrays_(arrays), parts_(parts), plan_(plan), element_bytes_(element_bytes) {
    const std::uint64_t count = parts.size() > many_parts ? 1 : std::min(plan.cells, most_segments);
    for (std::uint64_t s = 0; s < count; ++s) sums_.push_back(make_tallies(arrays, parts, accepts));
  }

  tallies run(std::unique_ptr<model::array_stream> reference, std::unique_ptr<model::array_stream> test) {
    constexpr std::uint64_t worth_a_thread = 8 << 20;
    const bool one = plan_.one_thread || sums_.size() < 2 || plan_.cells * plan_.box_bytes < worth_a_thread ||
                     std::thread::hardware_concurrency() < 2;
    std::vector<std::thread> threads;
    if (!one) threads.emplace_back([&] { guarded(arrays_.open_reference(), arrays_.open_test()); });
    guarded(std::move(reference), std::move(test));
    for (std::thread& t : threads) t.join();
    if (problem_) std::rethrow_exception(problem_);
    for (std::size_t s = 1; s < sums_.size(); ++s)
      for (std::size_t p = 0; p < parts_.size(); ++p) sums_[0][p]->merge(*sums_[s][p]);
    return std::move(sums_[0]);
  }

 private:
  void guarded(std::unique_ptr<model::array_stream> reference, std::unique_ptr<model::array_stream> test) {
    try {
      reader source(arrays_, std::move(reference), std::move(test));
      for (std::size_t s = next_++; s < sums_.size() && !stopped_; s = next_++) add(source, s);
    } catch (...) {
      stopped_ = true;
      const std::lock_guard lock(mutex_);
      if (!problem_) problem_ = std::current_exception();
    }
  }

  void add(reader& source, std::size_t s) {
    const std::uint64_t count = sums_.size();
    const std::uint64_t begin = plan_.cells / count * s + std::min<std::uint64_t>(plan_.cells % count, s);
    const std::uint64_t end = begin + plan_.cells / count + (s < plan_.cells % count ? 1 : 0);
    for (std::uint64_t cell = begin; cell < end && !stopped_; ++cell)
      for_each_box(plan_, cell, element_bytes_,
                   [&](const box& where) { source.add(where, parts_, sums_[s]); });
  }

  const value_pair& arrays_;
  const std::vector<paired_parts>& parts_;
  const reading_plan& plan_;
  std::uint64_t element_bytes_;
  std::vector<tallies> sums_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::exception_ptr problem_;
};

}  // namespace

std::vector<array_row> compare_values(const value_pair& arrays, const std::vector<paired_parts>& parts,
                                      const tolerance& accepts, std::string& skipped) {
  std::uint64_t elements = 0;
  model::multiply(arrays.reference.shape, elements);
  if (elements == 0 || parts.empty()) return rows_of(make_tallies(arrays, parts, accepts), arrays, parts);
  auto reference = arrays.open_reference();
  auto test = arrays.open_test();
  const std::uint64_t element_bytes =
      std::max<std::uint64_t>({arrays.reference.element_bytes, arrays.test.element_bytes, 1});
  const reading_plan plan =
      plan_reading(arrays.reference.shape, element_bytes, reference->layout(), test->layout(),
                   points_to_texts(arrays.reference) || points_to_texts(arrays.test));
  try {
    segments work(arrays, parts, accepts, plan, element_bytes);
    return rows_of(work.run(std::move(reference), std::move(test)), arrays, parts);
  } catch (const too_large&) {
    skipped = "one of its texts has more than 48 MiB";
    return {};
  }
}

}  // namespace numdiff::analysis

#include <algorithm>
#include <charconv>
#include <string_view>

#include "store/payload.hpp"
#include "store/rank_tables.hpp"

namespace numdiff::store {

namespace {

// Checks of one rank's tables, with the sentence for what does not fit.
class checker {
 public:
  checker(const std::string& path, const rank_tables& tables) : path_(path), tables_(tables) {}

  [[noreturn]] void damaged(table t, std::size_t row, const std::string& what) const {
    throw error(path_, table_name(t), "read",
                "row " + std::to_string(row) + " " + what + ": the file is damaged");
  }

  void range(table t, std::size_t row, std::int64_t offset, std::int64_t count, std::int64_t size,
             const char* of) const {
    if (offset < 0 || count < 0 || offset > size || count > size - offset)
      damaged(t, row, std::string("points outside ") + of);
  }

  // Codes of an optional payload; those of a dtype this reader does not know are "not kept".
  void codes(std::size_t row, std::int64_t& offset, std::int64_t count, std::uint16_t type) const {
    if (offset == -1) return;
    if (type == 0 || type >= dtype_count) {
      offset = -1;
    } else {
      range(table::captures, row, offset, count, tables_.length.payload[type], "its payload");
    }
  }

 private:
  const std::string& path_;
  const rank_tables& tables_;
};

void take_strings(rank_tables& in, const checker& check, model::string_table& out) {
  const auto heap = static_cast<std::int64_t>(in.rows.string_heap.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < in.rows.strings.size(); ++i) {
    const string_row& s = in.rows.strings[i];
    check.range(table::strings, i, s.offset, s.bytes, heap, "the heap");
    sum += s.bytes;
    if (sum > heap) check.damaged(table::strings, i, "shares bytes of the heap");
    if (i > 0)
      out.add(std::string(reinterpret_cast<const char*>(in.rows.string_heap.data()) + s.offset, s.bytes));
  }
}

void check_captures(rank_tables& in, const checker& check) {
  const auto sketches = static_cast<std::int64_t>(in.sketches.rows + in.rows.sketches.size());
  const auto histograms = static_cast<std::int64_t>(in.rows.histograms.size());
  for (std::size_t i = 0; i < in.rows.captures.size(); ++i) {
    detail::capture_row& c = in.rows.captures[i];
    if (c.count < 0) check.damaged(table::captures, i, "has a negative count");
    if (c.shape >= in.rows.shapes.size() && c.shape != 0)
      check.damaged(table::captures, i, "points outside /shapes");
    if (c.sketch != -1) check.range(table::captures, i, c.sketch, 1, sketches, "/sketches");
    if (c.histogram != -1)
      check.range(table::captures, i, c.histogram, c.histogram_bytes, histograms, "/histograms");
    const std::int64_t parts = is_complex(static_cast<dtype>(c.dtype)) ? 2 : 1;
    check.codes(i, c.payload, c.count / parts, c.dtype);
    check.codes(i, c.scale_payload, c.scale_count, c.scale_dtype);
    check.codes(i, c.zero_point_payload, c.zero_point_count, c.zero_point_dtype);
    check.codes(i, c.index_payload, c.index_count, static_cast<std::uint16_t>(dtype::i64));
  }
  for (std::size_t i = 0; i < in.rows.scales.size(); ++i) {
    const detail::scales_row& s = in.rows.scales[i];
    if (s.histogram != -1)
      check.range(table::scales, i, s.histogram, s.histogram_bytes, histograms, "/histograms");
  }
  for (std::size_t i = 0; i < in.rows.shapes.size(); ++i) {
    const detail::shape_row& s = in.rows.shapes[i];
    if (s.rank > 8) check.damaged(table::shapes, i, "has more than 8 dimensions");
    for (std::uint32_t d = 0; d < s.rank; ++d)
      if (s.extent[d] < 0) check.damaged(table::shapes, i, "has a negative extent");
  }
}

void take_extras(const rank_tables& in, const checker& check, model::rank_data& out) {
  const auto heap = static_cast<std::int64_t>(in.rows.extra_heap.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < in.rows.extras.size(); ++i) {
    const detail::extra_row& e = in.rows.extras[i];
    check.range(table::extras, i, e.offset, e.bytes, heap, "the heap");
    sum += e.bytes;
    if (sum > heap) check.damaged(table::extras, i, "shares bytes of the heap");
    const auto first = in.rows.extra_heap.begin() + e.offset;
    out.extras.emplace(e.owner,
                       model::extra{std::string(out.strings[e.key]),
                                    e.dtype < dtype_count ? static_cast<dtype>(e.dtype) : dtype::unknown,
                                    std::vector<std::byte>(first, first + e.bytes)});
  }
}

template <class Row, class Key>
void sort_by(std::vector<Row>& rows, Key key) {
  const auto less = [&](const Row& a, const Row& b) { return a.*key < b.*key; };
  if (!std::is_sorted(rows.begin(), rows.end(), less)) std::stable_sort(rows.begin(), rows.end(), less);
}

}  // namespace

model::rank_data to_rank(rank_tables&& in, const std::string& path) {
  const checker check(path, in);
  model::rank_data out;
  out.path = path;
  take_strings(in, check, out.strings);
  check_captures(in, check);
  take_extras(in, check, out);
  for (const detail::manifest_row& row : in.rows.manifest)
    out.manifest[std::string(out.strings[row.key])] = {std::string(out.strings[row.value]),
                                                       static_cast<manifest_class>(row.klass)};
  if (const auto rank = out.manifest.find("run.rank"); rank != out.manifest.end()) {
    const std::string& text = rank->second.value;
    std::from_chars(text.data(), text.data() + text.size(), out.rank);
  }
  const auto closed = out.manifest.find("closed");
  out.closed = closed != out.manifest.end() && closed->second.value == "true";
  out.ops = std::move(in.rows.ops);
  out.captures = std::move(in.rows.captures);
  out.casts = std::move(in.rows.casts);
  out.scales = std::move(in.rows.scales);
  out.collectives = std::move(in.rows.collectives);
  out.events = std::move(in.rows.events);
  out.shapes = std::move(in.rows.shapes);
  out.sketches = model::sketch_table(std::make_shared<sketch_reader>(in.file, std::move(in.sketches)));
  for (const sketch& behind : in.rows.sketches) out.sketches.add(behind);
  out.histograms = std::move(in.rows.histograms);
  sort_by(out.ops, &detail::op_row::seq);
  sort_by(out.captures, &detail::capture_row::seq);
  sort_by(out.casts, &detail::cast_row::capture);
  sort_by(out.scales, &detail::scales_row::capture);
  sort_by(out.collectives, &detail::collective_row::op);
  sort_by(out.events, &detail::event_row::seq);
  out.drops = in.drops;
  out.cut_rows = in.cut_rows;
  out.unknown_rows = in.unknown;
  out.payload =
      std::make_shared<payload_reader>(in.file, std::move(in.payload), std::move(in.payload_behind));
  return out;
}

}  // namespace numdiff::store

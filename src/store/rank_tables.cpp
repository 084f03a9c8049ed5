#include "store/rank_tables.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "numdiff/detail/tail.hpp"
#include "store/file_system.hpp"
#include "store/schema.hpp"
#include "store/table_reader.hpp"
#include "store/tail.hpp"

namespace numdiff::store {

namespace {

// All tables of an open file that are there.
struct opened {
  std::array<std::optional<guarded_dataset>, table_count> tables;
  std::array<std::optional<guarded_dataset>, dtype_count> payload;

  [[nodiscard]] bool reach(const lengths& n) const {
    const auto fits = [](const std::optional<guarded_dataset>& data, std::int64_t rows) {
      return rows >= 0 && static_cast<std::uint64_t>(rows) <= (data ? data->rows : 0);
    };
    for (std::size_t i = 0; i < table_count; ++i)
      if (!fits(tables[i], n.rows[i])) return false;
    for (std::uint16_t d = 1; d < dtype_count; ++d)
      if (!fits(payload[d], n.payload[d])) return false;
    return true;
  }
};

opened open_all(const guarded_file& file, const std::string& path) {
  opened all;
  for (std::size_t i = 0; i < table_count; ++i)
    all.tables[i] = open_guarded(file, {path, table_name(static_cast<table>(i))});
  for (std::uint16_t d = 1; d < dtype_count; ++d)
    all.payload[d] = open_guarded(file, {path, payload_name(static_cast<dtype>(d))});
  return all;
}

// The newest commit that all tables reach.
commit_row newest_commit(const guarded_file& file, const opened& all, const std::string& path) {
  const h5::place at{path, "/commits"};
  const auto data = open_guarded(file, at);
  if (!data) throw error(path, at.object, "read", "is missing: the file is damaged");
  constexpr std::uint64_t block = 64;
  for (std::uint64_t end = data->rows; end > 0;) {
    const std::uint64_t begin = end > block ? end - block : 0;
    const auto rows = read_rows<commit_row>(file, *data, begin, end - begin, at);
    for (auto row = rows.rbegin(); row != rows.rend(); ++row)
      if (row->time != 0 && all.reach(row->length)) return *row;
    end = begin;
  }
  throw error(path, at.object, "read", "holds no usable commit: the file is damaged");
}

template <class Row>
void read_table(const guarded_file& file, const std::optional<guarded_dataset>& data, std::int64_t rows,
                std::vector<Row>& out, const h5::place& at) {
  if (data && rows > 0) out = read_rows<Row>(file, *data, 0, static_cast<std::uint64_t>(rows), at);
}

template <class T>
void read_raw_table(const guarded_file& file, const std::optional<guarded_dataset>& data, std::int64_t rows,
                    std::uint64_t width, hid_t type, std::vector<T>& out, const h5::place& at) {
  if (!data || rows <= 0) return;
  if (data->width != width) throw error(at.file, at.object, "read", "has a shape that no table has");
  const auto n = static_cast<std::uint64_t>(rows);
  require_stored(file, *data, n, sizeof(T), at);
  out.resize(static_cast<std::size_t>(n));
  read_plain(file, *data, type, 0, n, reinterpret_cast<std::byte*>(out.data()), at);
}

void read_file(const std::string& path, rank_tables& out, std::int64_t& behind) {
  const guarded_file file = open_guarded(path);
  if (file.kind == "envelope")
    throw error(path, "", "open", "is an envelope, not a run: give it to --envelope");
  if (file.kind != "capture") throw error(path, "", "open", "is not the file of a rank");
  const opened all = open_all(file, path);
  const commit_row commit = newest_commit(file, all, path);
  batch::each(out.rows, [&](table t, auto& rows) {
    const std::size_t i = index_of(t);
    const h5::place at{path, table_name(t)};
    const std::int64_t n = commit.length.rows[i];
    using row = typename std::decay_t<decltype(rows)>::value_type;
    if constexpr (std::is_same_v<row, sketch>) {
      read_raw_table(file, all.tables[i], n, detail::sketch_buckets, H5T_IEEE_F64LE, rows, at);
    } else if constexpr (std::is_same_v<row, std::byte>) {
      read_raw_table(file, all.tables[i], n, 1, H5T_STD_U8LE, rows, at);
    } else {
      read_table(file, all.tables[i], n, rows, at);
    }
  });
  for (std::uint16_t d = 1; d < dtype_count; ++d)
    if (all.payload[d])
      require_stored(file, *all.payload[d], static_cast<std::uint64_t>(commit.length.payload[d]),
                     numdiff::bytes_of(static_cast<dtype>(d)), {path, payload_name(static_cast<dtype>(d))});
  for (const table t : {table::ops, table::captures})
    if (const auto& data = all.tables[index_of(t)])
      behind += static_cast<std::int64_t>(data->rows) - commit.length[t];
  out.length = commit.length;
  out.last_id = commit.last_id;
  out.unknown = commit.unknown;
  out.drops = {commit.dropped_captures, commit.dropped_ops,      commit.dropped_events,
               commit.dropped_values,   commit.dropped_sketches, commit.dropped_histograms};
  out.in_writing = file.in_writing;
}

std::string manifest_value(const batch& rows, std::string_view key) {
  const auto text = [&](std::uint32_t id) -> std::string_view {
    if (id >= rows.strings.size()) return {};
    const string_row& s = rows.strings[id];
    const std::size_t heap = rows.string_heap.size();
    if (s.offset < 0 || static_cast<std::uint64_t>(s.offset) > heap ||
        s.bytes > heap - static_cast<std::uint64_t>(s.offset))
      return {};
    return {reinterpret_cast<const char*>(rows.string_heap.data()) + s.offset, s.bytes};
  };
  for (auto row = rows.manifest.rbegin(); row != rows.manifest.rend(); ++row)
    if (text(row->key) == key) return std::string(text(row->value));
  return "";
}

void append(batch& to, batch&& from) {
  const auto join = [](auto& a, auto& b) {
    if (a.empty()) {
      a = std::move(b);
    } else {
      a.insert(a.end(), b.begin(), b.end());
    }
  };
  join(to.ops, from.ops);
  join(to.captures, from.captures);
  join(to.casts, from.casts);
  join(to.scales, from.scales);
  join(to.collectives, from.collectives);
  join(to.events, from.events);
  join(to.manifest, from.manifest);
  join(to.extras, from.extras);
  join(to.sketches, from.sketches);
  join(to.histograms, from.histograms);
  join(to.strings, from.strings);
  join(to.string_heap, from.string_heap);
  join(to.shapes, from.shapes);
  join(to.extra_heap, from.extra_heap);
}

}  // namespace

rank_tables read_rank(const std::string& path) {
  const h5::quiet no_printing;
  const no_plugins none;
  rank_tables out;
  std::optional<tail_snapshot> tail;
  try {
    tail = read_tail(tail_file(path));
  } catch (const error& e) {
    out.tail_problem = e.what();
  }
  std::int64_t behind = 0;
  const bool born = facts_of(path).exists || !tail;
  if (born) read_file(path, out, behind);
  const lengths in_file = out.length;

  std::array<std::vector<std::byte>, dtype_count> codes;
  std::uint64_t lost = 0;
  if (tail && born) {
    constexpr std::size_t most = sizeof(detail::tail_header::run_id) - 1;
    const bool same_run = manifest_value(out.rows, "run.id").substr(0, most) == tail->run_id.substr(0, most);
    if (!same_run || manifest_value(out.rows, "run.rank") != std::to_string(tail->rank)) {
      out.tail_problem = tail_file(path) + ": belongs to another run; it is left out";
      tail.reset();
    }
  }
  if (tail) {
    intake more(out.length);
    const taken_tail taken = take_tail(*tail, out.last_id, more);
    if (!born) {
      more.add_manifest("run.id", tail->run_id, manifest_class::identity, 0);
      more.add_manifest("run.rank", std::to_string(tail->rank), manifest_class::record, 0);
    }
    lost = tail->damaged;
    out.has_tail = taken.messages > 0;
    out.last_id = taken.last_id;
    out.unknown += more.unknown();
    const model::drop_counts& d = more.drops();
    out.drops.captures += d.captures;
    out.drops.ops += d.ops;
    out.drops.events += d.events;
    out.drops.values += d.values;
    out.drops.sketches += d.sketches;
    out.drops.histograms += d.histograms;
    out.length = more.length();
    batch rows = more.take_rows();
    codes = std::move(rows.payload);
    append(out.rows, std::move(rows));
    out.in_writing = out.in_writing || !born;
  } else {
    lost = static_cast<std::uint64_t>(std::max<std::int64_t>(behind, 0));
  }
  out.cut_rows = lost;
  out.payload = std::make_shared<payload_reader>(path, in_file, std::move(codes));
  return out;
}

}  // namespace numdiff::store

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

// The tables of an open file, opened when they are asked for: most are empty.
class opened {
 public:
  opened(const guarded_file& file, const std::string& path) : file_(file), path_(path) {}

  const std::optional<guarded_dataset>& operator[](table t) {
    return get(tables_[index_of(t)], [&] { return table_name(t); });
  }
  const std::optional<guarded_dataset>& operator[](dtype d) {
    return get(payload_[static_cast<std::size_t>(d)], [&] { return payload_name(d); });
  }
  [[nodiscard]] bool reach(const lengths& n) {
    const auto fits = [&](auto which, std::int64_t rows) {
      if (rows <= 0) return rows == 0;
      const std::optional<guarded_dataset>& data = (*this)[which];
      return static_cast<std::uint64_t>(rows) <= (data ? data->rows : 0);
    };
    for (std::size_t i = 0; i < table_count; ++i)
      if (!fits(static_cast<table>(i), n.rows[i])) return false;
    for (std::uint16_t d = 1; d < dtype_count; ++d)
      if (!fits(static_cast<dtype>(d), n.payload[d])) return false;
    return true;
  }

 private:
  struct entry {
    bool looked_for = false;
    std::optional<guarded_dataset> data;
  };
  template <class Name>
  const std::optional<guarded_dataset>& get(entry& e, Name name) {
    if (!e.looked_for) e.data = open_guarded(file_, {path_, name()});
    e.looked_for = true;
    return e.data;
  }

  const guarded_file& file_;
  const std::string& path_;
  std::array<entry, table_count> tables_;
  std::array<entry, dtype_count> payload_;
};

// The newest commit that all tables reach.
commit_row newest_commit(const guarded_file& file, opened& all, const std::string& path) {
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
  out = read_rows<Row>(file, *data, 0, static_cast<std::uint64_t>(rows), at);
}

void require_width(const std::optional<guarded_dataset>& data, std::uint64_t width, const h5::place& at) {
  if (data->width != width) throw error(at.file, at.object, "read", "has a shape that no table has");
}

template <class T>
void read_raw_table(const guarded_file& file, const std::optional<guarded_dataset>& data, std::int64_t rows,
                    hid_t type, std::vector<T>& out, const h5::place& at) {
  const auto n = static_cast<std::uint64_t>(rows);
  require_stored(file, *data, n, sizeof(T), at);
  out.resize(static_cast<std::size_t>(n));
  read_plain(file, *data, type, 0, n, reinterpret_cast<std::byte*>(out.data()), at);
}

void read_file(const std::string& path, sketches_are how, rank_tables& out, std::int64_t& behind) {
  const guarded_file file = open_guarded(path);
  if (file.kind == "envelope")
    throw error(path, "", "open", "is an envelope, not a run: give it to --envelope");
  if (file.kind != "capture") throw error(path, "", "open", "is not the file of a rank");
  opened all(file, path);
  const commit_row commit = newest_commit(file, all, path);
  batch::each(out.rows, [&](table t, auto& rows) {
    const h5::place at{path, table_name(t)};
    const std::int64_t n = commit.length[t];
    using row = typename std::decay_t<decltype(rows)>::value_type;
    if (n == 0) return;
    if constexpr (std::is_same_v<row, sketch>) {
      require_width(all[t], detail::sketch_buckets, at);
      if (how == sketches_are::left)
        out.sketches = find_rows(file, *all[t], H5T_IEEE_F64LE, static_cast<std::uint64_t>(n), at);
      else
        read_raw_table(file, all[t], n, H5T_IEEE_F64LE, rows, at);
    } else if constexpr (std::is_same_v<row, std::byte>) {
      require_width(all[t], 1, at);
      read_raw_table(file, all[t], n, H5T_STD_U8LE, rows, at);
    } else {
      read_table(file, all[t], n, rows, at);
    }
  });
  for (std::uint16_t d = 1; d < dtype_count; ++d) {
    const auto type = static_cast<dtype>(d);
    const h5::place at{path, payload_name(type)};
    if (commit.length.payload[d] == 0) continue;
    require_width(all[type], 1, at);
    out.payload[d] = find_rows(file, *all[type], h5::code_type(type, at).get(),
                               static_cast<std::uint64_t>(commit.length.payload[d]), at);
  }
  for (const table t : {table::ops, table::captures})
    if (const auto& data = all[t]) behind += static_cast<std::int64_t>(data->rows) - commit.length[t];
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

rank_tables read_rank(const std::string& path, sketches_are how) {
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
  if (born) read_file(path, how, out, behind);

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
    out.payload_behind = std::move(rows.payload);
    append(out.rows, std::move(rows));
    out.in_writing = out.in_writing || !born;
  } else {
    lost = static_cast<std::uint64_t>(std::max<std::int64_t>(behind, 0));
  }
  out.cut_rows = lost;
  out.file = std::make_shared<stored_file>(path);
  return out;
}

}  // namespace numdiff::store

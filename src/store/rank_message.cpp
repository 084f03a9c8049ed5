#include "store/rank_message.hpp"

#include <utility>

#include "store/payload.hpp"

namespace numdiff::store {

namespace {

void put_places(byte_writer& out, const row_places& places) {
  out.put(places.rows);
  out.put(places.row_bytes);
  out.put_list(places.pieces);
}

row_places take_places(byte_reader& in) {
  row_places places;
  places.rows = in.get<std::uint64_t>();
  places.row_bytes = in.get<std::uint64_t>();
  places.pieces = in.get_list<row_piece>();
  return places;
}

void put_payload(byte_writer& out, const model::rank_data& rank) {
  const auto& payload = dynamic_cast<const payload_reader&>(*rank.payload);
  const auto& sketches = dynamic_cast<const sketch_reader&>(*rank.sketches.source());
  out.put_text(payload.file()->path());
  out.put(payload.file()->device());
  out.put(payload.file()->inode());
  for (const row_places& places : payload.stored()) put_places(out, places);
  for (const std::vector<std::byte>& codes : payload.behind()) out.put_list(codes);
  put_places(out, sketches.stored());
  out.put_list(rank.sketches.added());
}

void take_payload(byte_reader& in, model::rank_data& rank) {
  std::string path = in.get_text();
  const auto device = in.get<std::uint64_t>(), inode = in.get<std::uint64_t>();
  const auto file = std::make_shared<const stored_file>(std::move(path), device, inode);
  payload_reader::places stored;
  payload_reader::codes behind;
  for (row_places& places : stored) places = take_places(in);
  for (std::vector<std::byte>& codes : behind) codes = in.get_list<std::byte>();
  rank.payload = std::make_shared<payload_reader>(file, std::move(stored), std::move(behind));
  rank.sketches = model::sketch_table(std::make_shared<sketch_reader>(file, take_places(in)));
  for (const model::sketch& added : in.get_list<model::sketch>()) rank.sketches.add(added);
}

void put_texts(byte_writer& out, const model::rank_data& rank) {
  out.put(std::uint64_t{rank.strings.size()});
  for (std::uint32_t i = 1; i < rank.strings.size(); ++i) out.put_text(rank.strings[i]);
  out.put(std::uint64_t{rank.manifest.size()});
  for (const auto& [key, entry] : rank.manifest) {
    out.put_text(key);
    out.put_text(entry.value);
    out.put(entry.klass);
  }
  out.put(std::uint64_t{rank.extras.size()});
  for (const auto& [owner, extra] : rank.extras) {
    out.put(owner);
    out.put_text(extra.key);
    out.put(extra.type);
    out.put_list(extra.bytes);
  }
}

void take_texts(byte_reader& in, model::rank_data& rank) {
  for (auto n = in.get<std::uint64_t>(); n > 1; --n) rank.strings.add(in.get_text());
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
    std::string key = in.get_text(), value = in.get_text();
    rank.manifest[std::move(key)] = {std::move(value), in.get<manifest_class>()};
  }
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
    const auto owner = in.get<std::uint64_t>();
    model::extra extra;
    extra.key = in.get_text();
    extra.type = in.get<dtype>();
    extra.bytes = in.get_list<std::byte>();
    rank.extras.emplace(owner, std::move(extra));
  }
}

// f(list) for every list of rows.
template <class Rank, class F>
void each_table(Rank& rank, F&& f) {
  f(rank.ops);
  f(rank.captures);
  f(rank.casts);
  f(rank.scales);
  f(rank.collectives);
  f(rank.events);
  f(rank.shapes);
  f(rank.histograms);
}

}  // namespace

void put_rank(byte_writer& out, const model::rank_data& rank) {
  std::size_t bytes = std::size_t{64} << 10;
  each_table(rank, [&](const auto& rows) { bytes += rows.size() * sizeof(rows[0]); });
  out.reserve(bytes);
  out.put_text(rank.path);
  out.put(rank.rank);
  put_texts(out, rank);
  each_table(rank, [&](const auto& rows) { out.put_list(rows); });
  out.put(rank.drops);
  out.put(rank.closed);
  out.put(rank.cut_rows);
  out.put(rank.unknown_rows);
  put_payload(out, rank);
}

model::rank_data take_rank(byte_reader& in) {
  model::rank_data rank;
  rank.path = in.get_text();
  rank.rank = in.get<std::int32_t>();
  take_texts(in, rank);
  each_table(rank, [&]<class Row>(std::vector<Row>& rows) { rows = in.get_list<Row>(); });
  rank.drops = in.get<model::drop_counts>();
  rank.closed = in.get<bool>();
  rank.cut_rows = in.get<std::uint64_t>();
  rank.unknown_rows = in.get<std::uint64_t>();
  take_payload(in, rank);
  return rank;
}

}  // namespace numdiff::store

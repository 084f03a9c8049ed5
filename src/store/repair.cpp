#include "store/repair.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "store/file_system.hpp"
#include "store/index_file.hpp"
#include "store/intake.hpp"
#include "store/isolate.hpp"
#include "store/payload.hpp"
#include "store/rank_tables.hpp"
#include "store/table_file.hpp"

namespace numdiff::store {

namespace {

void copy_payload(const rank_tables& in, table_file& out) {
  const payload_reader payload(in.file, in.payload, in.payload_behind);
  constexpr std::size_t block_bytes = std::size_t{4} << 20;
  for (std::uint16_t d = 1; d < dtype_count; ++d) {
    const dtype type = static_cast<dtype>(d);
    const auto block = static_cast<std::int64_t>(block_bytes / numdiff::bytes_of(type));
    for (std::int64_t first = 0; first < in.length.payload[d]; first += block) {
      const auto n = static_cast<std::size_t>(std::min(block, in.length.payload[d] - first));
      batch codes;
      codes.payload[d].resize(n * numdiff::bytes_of(type));
      payload.read(type, first, codes.payload[d]);
      out.append(codes);
    }
  }
}

void write_copy(const rank_tables& in, const std::string& path) {
  const h5::quiet no_printing;
  const std::int64_t codes =
      std::accumulate(in.length.payload.begin(), in.length.payload.end(), std::int64_t{0});
  constexpr std::int64_t many = std::int64_t{4} << 20;
  table_file out(path, !is_network_file_system(directory_of(path)),
                 codes > many ? payload_size::large : payload_size::small);
  out.append(in.rows);
  copy_payload(in, out);
  intake mark(in.length);
  mark.add_manifest("closed", "repaired", manifest_class::record, 0);
  out.append(mark.rows());
  commit_row row{};
  row.last_id = in.last_id;
  row.time = 1;
  row.unknown = in.unknown;
  row.dropped_captures = in.drops.captures + in.cut_rows;
  row.dropped_ops = in.drops.ops;
  row.dropped_events = in.drops.events;
  row.dropped_values = in.drops.values;
  row.dropped_sketches = in.drops.sketches;
  row.dropped_histograms = in.drops.histograms;
  out.commit(row);
  out.finish();
}

repaired_file repair_rank(const std::string& path, const std::string& output) {
  const rank_tables in = read_rank(path, sketches_are::read);
  if (!in.tail_problem.empty()) throw error(path, "", "repair", "cannot be repaired: " + in.tail_problem);
  static_cast<void>(to_rank(rank_tables(in), path));  // refuses what points outside its table
  repaired_file result{output.empty() ? path : output, false, in.last_id, in.rows.captures.size(),
                       in.cut_rows};
  if (output.empty() && !in.in_writing && !in.has_tail) return result;
  write_copy(in, result.path);
  result.written = true;
  const std::string tail = tail_file(path);
  if (output.empty() && facts_of(tail).exists) rename_file(tail, tail_file(old_file(path)));
  return result;
}

}  // namespace

std::vector<repaired_file> repair(const std::string& path, const repair_options& options) {
  const auto one = [&](const std::string& file) {
    if (options.isolate) try_in_child(file, [&] { to_rank(read_rank(file), file); });
    return repair_rank(file, options.output);
  };
  if (!facts_of(path).exists || !is_index(path)) return {one(path)};
  if (!options.output.empty())
    throw error(path, "", "repair", "is the index of several rank files; they are repaired in place");
  std::vector<repaired_file> results;
  for (const std::string& name : read_index(path).files) {
    const std::string file = directory_of(path) + "/" + name;
    if (facts_of(file).exists || facts_of(tail_file(file)).exists) results.push_back(one(file));
  }
  return results;
}

}  // namespace numdiff::store

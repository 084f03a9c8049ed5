#include "store/load.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "store/file_system.hpp"
#include "store/index_file.hpp"
#include "store/isolate.hpp"
#include "store/rank_tables.hpp"

namespace numdiff::store {

namespace {

std::string manifest(const model::rank_data& rank, std::string_view key) {
  const auto at = rank.manifest.find(key);
  return at == rank.manifest.end() ? std::string() : at->second.value;
}

std::int32_t number(const std::string& text, std::int32_t otherwise) {
  std::int32_t value = otherwise;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  return r.ec == std::errc() ? value : otherwise;
}

model::rank_data load_rank(const std::string& path, model::run& run) {
  rank_tables tables = read_rank(path);
  if (!tables.tail_problem.empty()) run.warnings.push_back(tables.tail_problem);
  return to_rank(std::move(tables), path);
}

void load_index(const std::string& path, model::run& run) {
  const run_index index = read_index(path);
  run.run_id = index.run_id;
  run.world_size = index.world_size;
  for (std::int32_t r = 0; r < index.world_size; ++r) {
    const std::string file = directory_of(path) + "/" + index.files[static_cast<std::size_t>(r)];
    if (!facts_of(file).exists && !facts_of(tail_file(file)).exists) {
      run.missing.push_back(r);
      run.warnings.push_back(path + ": the file of rank " + std::to_string(r) + ", " +
                             index.files[static_cast<std::size_t>(r)] + ", is missing");
      continue;
    }
    model::rank_data rank = load_rank(file, run);
    if (manifest(rank, "run.id") != run.run_id)
      throw error(
          file, "", "open",
          "belongs to run " + manifest(rank, "run.id") + ", the index " + path + " to run " + run.run_id);
    if (rank.rank != r)
      throw error(file, "", "open",
                  "is of rank " + std::to_string(rank.rank) + ", not of rank " + std::to_string(r));
    run.ranks.push_back(std::move(rank));
  }
  if (run.ranks.empty()) throw error(path, "", "open", "names no rank file that is there");
}

model::run load(const std::string& path) {
  model::run run;
  run.path = path;
  const file_facts facts = facts_of(path);
  if (facts.exists) {
    run.has_fingerprint = true;
    run.fingerprint[0] = facts.device;
    run.fingerprint[1] = facts.inode;
  }
  if (facts.exists && is_index(path)) {
    load_index(path, run);
    return run;
  }
  run.ranks.push_back(load_rank(path, run));
  const model::rank_data& rank = run.ranks.front();
  run.run_id = manifest(rank, "run.id");
  run.world_size = number(manifest(rank, "run.world_size"), 1);
  if (run.world_size > 1)
    run.warnings.push_back(path + ": is rank " + std::to_string(rank.rank) + " of " +
                           std::to_string(run.world_size) + "; the other ranks are not read");
  return run;
}

}  // namespace

model::run load_run(const std::string& path, const load_options& options) {
  if (options.isolate) try_in_child(path, [&] { load(path); });
  return load(path);
}

}  // namespace numdiff::store

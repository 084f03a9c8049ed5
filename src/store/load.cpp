#include "store/load.hpp"

#include <charconv>
#include <exception>
#include <optional>
#include <utility>

#include "store/file_system.hpp"
#include "store/index_file.hpp"
#include "store/rank_files.hpp"
#include "store/reading_children.hpp"
#include "store/team.hpp"

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

using maybe_index = std::optional<run_index>;

maybe_index index_at(const std::string& path) {
  if (!facts_of(path).exists || !is_index(path)) return {};
  return read_index(path);
}

std::vector<std::byte> bytes_of(const maybe_index& index) {
  byte_writer out;
  out.put(index.has_value());
  if (index) {
    out.put_text(index->run_id);
    out.put(index->world_size);
    for (const std::string& name : index->files) out.put_text(name);
  }
  return out.take();
}

maybe_index index_of(std::span<const std::byte> bytes) {
  byte_reader in(bytes);
  if (!in.get<bool>()) return {};
  run_index index;
  index.run_id = in.get_text();
  index.world_size = in.get<std::int32_t>();
  for (std::int32_t r = 0; r < index.world_size; ++r) index.files.push_back(in.get_text());
  return index;
}

// By path: its index, nothing for the file of a rank.
std::vector<maybe_index> read_indexes(std::span<const std::string> paths, bool isolate) {
  std::vector<maybe_index> all(paths.size());
  if (!isolate) {
    for (std::size_t i = 0; i < paths.size(); ++i) all[i] = index_at(paths[i]);
    return all;
  }
  std::vector<file_to_read> files;
  for (std::size_t i = 0; i < paths.size(); ++i)
    files.push_back({paths[i], [&paths, i] { return bytes_of(index_at(paths[i])); },
                     [&all, i](std::span<const std::byte> bytes) { all[i] = index_of(bytes); }});
  if (const auto failed = read_in_children(files)) failed->why.raise();
  return all;
}

// One run on its way: which of the files to read are its own.
struct loading {
  model::run run;
  maybe_index index;
  std::size_t first_file = 0;
  std::vector<std::int32_t> ranks;  // of an index: that of each file
};

loading begin(const std::string& path, maybe_index index, std::vector<std::string>& files) {
  loading l;
  l.run.path = path;
  const file_facts facts = facts_of(path);
  if (facts.exists) {
    l.run.has_fingerprint = true;
    l.run.fingerprint[0] = facts.device;
    l.run.fingerprint[1] = facts.inode;
  }
  l.first_file = files.size();
  if (!index) {
    files.push_back(path);
    return l;
  }
  l.run.run_id = index->run_id;
  l.run.world_size = index->world_size;
  for (std::int32_t r = 0; r < index->world_size; ++r) {
    const std::string& name = index->files[static_cast<std::size_t>(r)];
    const std::string file = directory_of(path) + "/" + name;
    if (facts_of(file).exists || facts_of(tail_file(file)).exists) {
      files.push_back(file);
      l.ranks.push_back(r);
      continue;
    }
    l.run.missing.push_back(r);
    l.run.warnings.push_back(path + ": the file of rank " + std::to_string(r) + ", " + name + ", is missing");
  }
  if (l.ranks.empty()) throw error(path, "", "open", "names no rank file that is there");
  l.index = std::move(index);
  return l;
}

model::run end_index(loading&& l, std::span<rank_file_content> contents) {
  for (std::size_t i = 0; i < l.ranks.size(); ++i) {
    rank_file_content& content = contents[l.first_file + i];
    if (!content.warning.empty()) l.run.warnings.push_back(std::move(content.warning));
    model::rank_data& rank = content.rank;
    if (manifest(rank, "run.id") != l.run.run_id)
      throw error(rank.path, "", "open",
                  "belongs to run " + manifest(rank, "run.id") + ", the index " + l.run.path + " to run " +
                      l.run.run_id);
    if (rank.rank != l.ranks[i])
      throw error(rank.path, "", "open",
                  "is of rank " + std::to_string(rank.rank) + ", not of rank " + std::to_string(l.ranks[i]));
    l.run.ranks.push_back(std::move(rank));
  }
  return std::move(l.run);
}

model::run end(loading&& l, std::span<rank_file_content> contents) {
  if (l.index) return end_index(std::move(l), contents);
  rank_file_content& content = contents[l.first_file];
  if (!content.warning.empty()) l.run.warnings.push_back(std::move(content.warning));
  const model::rank_data& rank = content.rank;
  l.run.run_id = manifest(rank, "run.id");
  l.run.world_size = number(manifest(rank, "run.world_size"), 1);
  if (l.run.world_size > 1)
    l.run.warnings.push_back(l.run.path + ": is rank " + std::to_string(rank.rank) + " of " +
                             std::to_string(l.run.world_size) + "; the other ranks are not read");
  l.run.ranks.push_back(std::move(content.rank));
  return std::move(l.run);
}

std::vector<loading> begin_all(std::span<const std::string> paths, bool isolate,
                               std::vector<std::string>& files) {
  std::vector<maybe_index> indexes = read_indexes(paths, isolate);
  std::vector<loading> all;
  for (std::size_t i = 0; i < paths.size(); ++i) all.push_back(begin(paths[i], std::move(indexes[i]), files));
  return all;
}

}  // namespace

std::vector<model::run> load_runs(std::span<const std::string> paths, const load_options& options) {
  std::vector<std::string> files;
  std::vector<loading> all;
  const bool alone = options.team == nullptr || options.team->size() == 1;
  const bool first = alone || options.team->number() == 0;
  try {
    all = begin_all(paths, options.isolate, files);
  } catch (const std::exception& problem) {
    if (alone) throw;
    if (first) {
      drain(*options.team);
      throw;
    }
    tell_failure(*options.team, problem);
    return {};
  }
  std::vector<rank_file_content> contents = read_rank_files(files, options);
  std::vector<model::run> runs;
  for (loading& one : all)
    if (first) runs.push_back(end(std::move(one), contents));
  return runs;
}

model::run load_run(const std::string& path, const load_options& options) {
  return std::move(load_runs(std::span(&path, 1), options).front());
}

}  // namespace numdiff::store

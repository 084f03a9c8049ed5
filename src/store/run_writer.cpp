#include "store/run_writer.hpp"

#include <chrono>

#include "store/file_system.hpp"
#include "store/table_file.hpp"

namespace numdiff::store {

namespace {

constexpr std::size_t batch_bytes = std::size_t{4} << 20;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

run_writer::run_writer(const std::string& path, const run_identity& identity)
    : run_writer(path, identity, !is_network_file_system(directory_of(path))) {}

run_writer::run_writer(const std::string& path, const run_identity& identity, bool swmr)
    : intake_(lengths{}),
      file_(std::make_unique<table_file>(path, swmr,
                                         identity.tensors ? payload_size::large : payload_size::small)) {
  put("format.version", std::to_string(format_major), manifest_class::record);
  put("run.id", identity.run_id, manifest_class::identity);
  put("run.kind", "capture", manifest_class::record);
  put("run.world_size", std::to_string(identity.world_size), manifest_class::record);
  put("run.rank", std::to_string(identity.rank), manifest_class::record);
  put("run.restart", std::to_string(identity.restart), manifest_class::record);
  put("storage.mode", swmr ? "swmr" : "append", manifest_class::performance);
  commit(0);
  file_->publish();
}

run_writer::~run_writer() = default;

void run_writer::abandon() noexcept {
  file_->abandon();
}

int run_writer::descriptor() const noexcept {
  return file_->descriptor();
}

void run_writer::put(std::string_view key, std::string_view value, manifest_class klass) {
  intake_.add_manifest(key, value, klass, now());
}

void run_writer::write(std::span<const std::byte> messages) {
  while (!messages.empty()) {
    const auto m = view_message(messages);
    if (!m) throw error("message", "", "write", "a message of the queue has an impossible size");
    intake_.take(*m);
    messages = messages.subspan(m->header.size);
    if (intake_.rows().bytes() > batch_bytes) append();
  }
}

void run_writer::append() {
  file_->append(intake_.rows());
  intake_.clear_rows();
}

void run_writer::commit(std::uint64_t last_id) {
  append();
  last_id_ = last_id;
  commit_row row{};
  row.last_id = last_id;
  row.time = now();
  row.unknown = intake_.unknown();
  const model::drop_counts& d = intake_.drops();
  row.dropped_captures = d.captures;
  row.dropped_ops = d.ops;
  row.dropped_events = d.events;
  row.dropped_values = d.values;
  row.dropped_sketches = d.sketches;
  row.dropped_histograms = d.histograms;
  file_->commit(row);
}

void run_writer::close() {
  put("closed", "true", manifest_class::record);
  commit(last_id_);
  file_->close();
}

}  // namespace numdiff::store

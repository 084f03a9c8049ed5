#pragma once
// A run as readers see it: the rows of every rank's file plus its tail, with strings, shapes,
// sketches, histograms and payloads reachable. Storage fills it; analysis and report only read it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/sketch_table.hpp"
#include "numdiff/detail/rows.hpp"
#include "numdiff/dtype.hpp"
#include "numdiff/terms.hpp"

namespace numdiff::model {

using detail::capture_row;
using detail::cast_row;
using detail::collective_row;
using detail::event_row;
using detail::op_row;
using detail::scales_row;
using detail::shape_row;

// Strings by id; id 0 is the empty string. Ids are those of the rank's file, extended by its tail.
class string_table {
 public:
  string_table() : texts_(1) {}
  // An id out of range reads as the empty string.
  [[nodiscard]] std::string_view operator[](std::uint32_t id) const noexcept {
    return id < texts_.size() ? std::string_view(texts_[id]) : std::string_view();
  }
  std::uint32_t add(std::string text) {
    texts_.push_back(std::move(text));
    return static_cast<std::uint32_t>(texts_.size() - 1);
  }
  [[nodiscard]] std::size_t size() const noexcept { return texts_.size(); }

 private:
  std::vector<std::string> texts_;
};

// Reads raw codes of payloads. Implementations check every range and throw storage errors.
class payload_source {
 public:
  virtual ~payload_source() = default;
  // Elements [first, first + out.size() / bytes_of(type)) of /payload/<type>, raw codes.
  virtual void read(dtype type, std::int64_t first, std::span<std::byte> out) const = 0;
};

// One octave histogram: counts[i] elements with 2^(first + i) <= |value| < 2^(first + i + 1).
struct histogram {
  int first = 0;
  std::vector<std::uint64_t> counts;
};

struct manifest_entry {
  std::string value;
  manifest_class klass = manifest_class::record;
};

struct extra {
  std::string key;
  dtype type = dtype::unknown;
  std::vector<std::byte> bytes;
};

// What the writer could not keep, in total.
struct drop_counts {
  std::uint64_t captures = 0, ops = 0, events = 0, values = 0, sketches = 0, histograms = 0;
};

// One rank's file with its tail taken in.
struct rank_data {
  std::string path;
  std::int32_t rank = 0;
  string_table strings;
  std::vector<op_row> ops;                     // ascending seq
  std::vector<capture_row> captures;           // ascending seq
  std::vector<cast_row> casts;                 // ascending capture
  std::vector<scales_row> scales;              // ascending capture
  std::vector<collective_row> collectives;     // ascending op
  std::vector<event_row> events;               // ascending seq
  std::vector<shape_row> shapes;               // by capture_row.shape
  sketch_table sketches;                       // by capture_row.sketch
  std::vector<std::byte> histograms;           // encoded, by byte offset
  std::multimap<std::uint64_t, extra> extras;  // by owner seq; 0 the run
  std::map<std::string, manifest_entry, std::less<>> manifest;
  std::shared_ptr<const payload_source> payload;
  drop_counts drops;
  bool closed = false;             // ended properly
  std::uint64_t cut_rows = 0;      // rows behind the newest commit, and not readable from the tail
  std::uint64_t unknown_rows = 0;  // rows of kinds this reader does not know
};

// A run of one or more ranks. `ranks` is ascending by rank; missing ranks are listed.
struct run {
  std::string path;  // as given by the user
  std::string run_id;
  std::int32_t world_size = 1;
  std::vector<rank_data> ranks;
  std::vector<std::int32_t> missing;  // ranks the index names whose file is not there
  std::vector<std::string> warnings;  // one sentence each, for the user
  bool has_fingerprint = false;       // identity of the file, to refuse the same file twice
  std::uint64_t fingerprint[2] = {0, 0};
};

// Decodes an encoded histogram (docs/file_format.md). A damaged one decodes to what was readable.
histogram decode_histogram(std::span<const std::byte> encoded);

}  // namespace numdiff::model

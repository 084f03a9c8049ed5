#pragma once
// What a session recorded through the recording sink, or left in a tail.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "numdiff/detail/message.hpp"
#include "numdiff/detail/tail.hpp"

namespace test {

using bytes = std::vector<unsigned char>;

// A directory of its own for a test, gone afterwards.
class temporary_directory {
 public:
  temporary_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "numdiff.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct message {
  numdiff::detail::message_header header{};
  bytes row;
  std::map<numdiff::detail::field, bytes> fields;

  template <class Row>
  [[nodiscard]] Row as() const {
    Row r{};
    std::memcpy(&r, row.data(), std::min(sizeof r, row.size()));
    return r;
  }
  [[nodiscard]] std::string text(numdiff::detail::field f) const {
    const auto found = fields.find(f);
    return found == fields.end() ? std::string() : std::string(found->second.begin(), found->second.end());
  }
  [[nodiscard]] bool has(numdiff::detail::field f) const { return fields.count(f) != 0; }
};

inline message parse(const unsigned char* at) {
  message m;
  std::memcpy(&m.header, at, sizeof m.header);
  const unsigned char* p = at + sizeof m.header;
  m.row.assign(p, p + m.header.row_bytes);
  p += numdiff::detail::padded(m.header.row_bytes);
  while (p < at + m.header.size) {
    numdiff::detail::field_header f{};
    std::memcpy(&f, p, sizeof f);
    p += sizeof f;
    m.fields[static_cast<numdiff::detail::field>(f.tag)] = bytes(p, p + f.bytes);
    p += numdiff::detail::padded(f.bytes);
  }
  return m;
}

inline bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The whole messages of a file of the recording sink; a killed program may leave half of one.
inline std::vector<message> read_messages(const std::string& path) {
  const bytes all = read_file(path);
  std::vector<message> out;
  for (std::size_t at = 0; at + sizeof(numdiff::detail::message_header) <= all.size();) {
    numdiff::detail::message_header header{};
    std::memcpy(&header, all.data() + at, sizeof header);
    if (header.size > all.size() - at) break;
    out.push_back(parse(all.data() + at));
    at += header.size;
  }
  return out;
}

// The complete messages of a tail.
inline std::vector<message> read_tail(const std::string& path) {
  const bytes all = read_file(path);
  std::vector<message> out;
  if (all.size() < numdiff::detail::tail_header_bytes) return out;
  numdiff::detail::tail_header header{};
  std::memcpy(&header, all.data(), sizeof header);
  numdiff::detail::tail_walk walk(header, all.data() + header.header_bytes, all.size() - header.header_bytes);
  for (auto item = walk.next(); item != numdiff::detail::tail_item::end; item = walk.next()) {
    if (item == numdiff::detail::tail_item::complete) {
      out.push_back(parse(reinterpret_cast<const unsigned char*>(walk.message())));
    }
  }
  return out;
}

inline std::vector<message> of_kind(const std::vector<message>& all, numdiff::detail::message_kind kind) {
  std::vector<message> out;
  for (const message& m : all) {
    if (m.header.kind == static_cast<std::uint16_t>(kind)) out.push_back(m);
  }
  return out;
}

}  // namespace test

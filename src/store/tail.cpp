#include "store/tail.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <span>

#include "numdiff/detail/tail.hpp"
#include "store/error.hpp"
#include "store/file_system.hpp"

namespace numdiff::store {

std::optional<tail_snapshot> read_tail(const std::string& path) {
  const file_facts facts = facts_of(path);
  if (!facts.exists) return {};
  std::ifstream in(path, std::ios::binary);
  detail::tail_header header{};
  if (!in || !facts.regular) throw error(path, "", "read", "cannot be opened");
  in.read(reinterpret_cast<char*>(&header), sizeof(header));
  // The magic is written last: without it the tail was never in use.
  if (in.gcount() != sizeof(header) || std::memcmp(header.magic, detail::tail_magic, 8) != 0) return {};
  if (header.version != detail::tail_version)
    throw error(path, "", "read",
                "is a tail of version " + std::to_string(header.version) + "; use a newer numdiff");
  const std::uint64_t ring_bytes = facts.bytes > header.header_bytes ? facts.bytes - header.header_bytes : 0;
  if (header.header_bytes < sizeof(header) || header.capacity > ring_bytes)
    throw error(path, "", "read", "is a damaged tail: its header does not fit its size");

  tail_snapshot tail;
  tail.run_id.assign(header.run_id, strnlen(header.run_id, sizeof(header.run_id)));
  tail.rank = header.rank;
  if (header.read == header.write) return tail;
  std::vector<std::uint64_t> ring(static_cast<std::size_t>(header.capacity / 8));
  in.seekg(static_cast<std::streamoff>(header.header_bytes));
  in.read(reinterpret_cast<char*>(ring.data()), static_cast<std::streamsize>(ring.size() * 8));
  if (static_cast<std::size_t>(in.gcount()) != ring.size() * 8)
    throw error(path, "", "read", "cannot be read to its end");

  detail::tail_walk walk(header, reinterpret_cast<const unsigned char*>(ring.data()), ring.size() * 8);
  for (detail::tail_item item = walk.next(); item != detail::tail_item::end; item = walk.next()) {
    if (item == detail::tail_item::damaged) {
      ++tail.damaged;
      continue;
    }
    const auto* message = reinterpret_cast<const std::uint64_t*>(walk.message());
    tail.messages.insert(tail.messages.end(), message, message + walk.message()->size / 8);
  }
  return tail;
}

taken_tail take_tail(const tail_snapshot& tail, std::uint64_t last_id, intake& into) {
  taken_tail taken{0, last_id};
  auto rest = std::as_bytes(std::span(tail.messages));
  while (const auto m = view_message(rest)) {
    rest = rest.subspan(m->header.size);
    if (m->header.id <= last_id) continue;
    into.take(*m);
    ++taken.messages;
    taken.last_id = std::max(taken.last_id, m->header.id);
  }
  return taken;
}

}  // namespace numdiff::store

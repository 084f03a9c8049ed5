#include "store/view_names.hpp"

#include <vector>

namespace numdiff::store {

namespace {

// Not more than `longest` bytes, and no half of a UTF-8 character.
std::string_view cut(std::string_view part) {
  if (part.size() <= view_names::longest) return part;
  std::size_t end = view_names::longest;
  while (end > view_names::longest - 4 && (static_cast<unsigned char>(part[end]) & 0xc0U) == 0x80U) --end;
  return part.substr(0, end);
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size() == path.size() ? part.size() : part.size() + 1);
    if (!part.empty() && part != ".") parts.push_back(cut(part));
  }
  return parts;
}

}  // namespace

std::string view_names::distinct(std::string_view path, std::string_view suffix) {
  const std::vector<std::string_view> parts = parts_of(path);
  std::string name;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) name = below(name, parts[i], kind::group);
  const std::string last = std::string(parts.empty() ? "" : parts.back()).append(suffix);
  return below(name, last, kind::dataset);
}

std::string view_names::below(const std::string& path, std::string_view part, kind wanted) {
  std::string plain = path;
  plain.append("/").append(part);
  const auto first = taken_.try_emplace(plain, entry{wanted});
  if (first.second || (wanted == kind::group && first.first->second.is == kind::group)) return plain;
  // References to entries outlive later insertions, iterators do not.
  unsigned& next = first.first->second.next;
  for (unsigned n = wanted == kind::group ? 2 : next;; ++n) {
    std::string name = plain + "#" + std::to_string(n);
    const auto other = taken_.try_emplace(name, entry{wanted});
    if (!other.second && !(wanted == kind::group && other.first->second.is == kind::group)) continue;
    if (wanted == kind::dataset) next = n + 1;
    return name;
  }
}

}  // namespace numdiff::store

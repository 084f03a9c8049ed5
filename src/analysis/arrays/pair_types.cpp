#include "analysis/arrays/pair_types.hpp"

#include <algorithm>
#include <map>

namespace numdiff::analysis {

namespace {

using model::element_part;
using model::part_kind;

std::string with_shape(const element_part& part) {
  std::string text = part.type;
  for (const std::uint64_t extent : part.shape) text += "[" + std::to_string(extent) + "]";
  return text;
}

bool comparable(const element_part& a, const element_part& b) {
  if (a.shape != b.shape) return false;
  if (is_number(a.kind)) return is_number(b.kind);
  return a.kind == b.kind &&
         (a.kind == part_kind::text || (a.kind == part_kind::opaque && a.bytes == b.bytes));
}

}  // namespace

paired_types pair_types(const std::string& name, const model::array_info& reference,
                        const model::array_info& test, const tolerance& accepts) {
  paired_types out;
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < test.parts.size(); ++i) by_name.emplace(test.parts[i].name, i);
  std::size_t matched = 0;
  for (std::size_t i = 0; i < reference.parts.size(); ++i) {
    const element_part& r = reference.parts[i];
    const auto at = by_name.find(r.name);
    if (at == by_name.end()) continue;
    ++matched;
    const element_part& t = test.parts[at->second];
    const std::string here = name + r.name;
    const bool values = comparable(r, t);
    if (!same_type(r, t)) {
      const bool numbers =
          values && is_number(r.kind) && r.kind != part_kind::enumeration && t.kind != part_kind::enumeration;
      out.differences.push_back(
          {here, structure_kind::type, with_shape(r), with_shape(t), !(numbers && accepts.any())});
    }
    if (values) {
      out.pairs.push_back({i, at->second});
    } else if (r.kind == part_kind::unread || t.kind == part_kind::unread) {
      out.skipped.push_back({here, r.kind == part_kind::unread ? r.unread : t.unread});
    }
  }
  // Plain numbers against a compound, or compounds with other members.
  if (matched == 0 && !(reference.parts.empty() && test.parts.empty())) {
    out.differences.push_back({name, structure_kind::type, reference.type, test.type, true});
    return out;
  }
  for (const element_part& r : reference.parts)
    if (!by_name.contains(r.name))
      out.differences.push_back({name + r.name, structure_kind::member, with_shape(r), "", true});
  for (const element_part& t : test.parts)
    if (std::ranges::none_of(reference.parts, [&](const element_part& r) { return r.name == t.name; }))
      out.differences.push_back({name + t.name, structure_kind::member, "", with_shape(t), true});
  return out;
}

}  // namespace numdiff::analysis

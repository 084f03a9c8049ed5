// Settings that differ between the runs.
#include <algorithm>

#include "analysis/comparer.hpp"

namespace numdiff::analysis {

void comparer::compare_manifests() {
  if (reference_.index.run().ranks.empty() || test_.index.run().ranks.empty()) return;
  const auto& a = reference_.index.run().ranks.front().manifest;
  const auto& b = test_.index.run().ranks.front().manifest;
  const auto note = [&](const std::string& key, const model::manifest_entry* r,
                        const model::manifest_entry* t) {
    const manifest_class klass = r != nullptr ? r->klass : t->klass;
    if (klass == manifest_class::identity || (r != nullptr && t != nullptr && r->value == t->value)) return;
    result_.manifest_differences.push_back(
        {key, klass, r != nullptr ? r->value : std::string(), t != nullptr ? t->value : std::string()});
  };
  for (const auto& [key, entry] : a) {
    const auto other = b.find(key);
    note(key, &entry, other == b.end() ? nullptr : &other->second);
  }
  for (const auto& [key, entry] : b) {
    if (!a.contains(key)) note(key, nullptr, &entry);
  }
  std::ranges::stable_sort(result_.manifest_differences, {}, &manifest_difference::klass);
}

}  // namespace numdiff::analysis

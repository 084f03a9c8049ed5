#pragma once
// Names as small numbers that mean the same in both runs.
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace numdiff::analysis {

class symbols {
 public:
  symbols() { of(""); }

  // The empty name is 0.
  std::uint32_t of(std::string_view name) {
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    const std::string& kept = names_.emplace_back(name);
    const auto number = static_cast<std::uint32_t>(names_.size() - 1);
    numbers_.emplace(kept, number);
    return number;
  }
  [[nodiscard]] const std::string& text(std::uint32_t number) const { return names_[number]; }

 private:
  std::deque<std::string> names_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

}  // namespace numdiff::analysis

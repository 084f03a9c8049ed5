#pragma once
// The pages of docs/rules, built into the program.
#include <span>

namespace numdiff::program {

struct rule_page {
  const char* id;    // "ND101"
  const char* text;  // Markdown
};

// By id.
std::span<const rule_page> rule_pages();

}  // namespace numdiff::program

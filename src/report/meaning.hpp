#pragma once
// What the names of symptoms and causes mean, in a few words.
#include <string_view>

namespace numdiff::report {

const char* symptom_meaning(std::string_view name) noexcept;  // "" for a name that is not known
const char* cause_meaning(std::string_view name) noexcept;

}  // namespace numdiff::report

#pragma once
// How values of reports become JSON.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace numdiff::report {

using ordered = nlohmann::ordered_json;

// JSON has no NaN and no infinity: they are strings.
inline ordered json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// The number, or null when it is not known.
inline ordered json_known(double value) {
  if (std::isnan(value)) return nullptr;
  return json_number(value);
}

inline ordered json_index(std::int64_t value) {
  return value < 0 ? ordered(nullptr) : ordered(value);
}
inline ordered json_text(std::string_view text) {
  return text.empty() ? ordered(nullptr) : ordered(text);
}

// Names come from the captured program and may be any bytes: what is not UTF-8 is replaced.
inline std::string json_dump(const ordered& value) {
  return value.dump(2, ' ', false, ordered::error_handler_t::replace) + '\n';
}

}  // namespace numdiff::report

#pragma once
// The file of an envelope: one row for each tensor of each step, and the names they refer to.
#include <string>

#include "model/envelope.hpp"

namespace numdiff::store {

// Written aside and renamed; an older file of numdiff of that name becomes `.old`. Throws store::error.
void write_envelope(const std::string& path, const model::envelope& envelope);

// Throws store::error for anything that is no envelope.
model::envelope load_envelope(const std::string& path);

}  // namespace numdiff::store

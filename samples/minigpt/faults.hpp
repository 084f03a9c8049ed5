#pragma once
// Faults that can be planted. Each declares what an honest program does and then does something else.
#include <cstdint>
#include <string>

#include "options.hpp"

namespace minigpt {

struct fault_entry {
  const char* name;
  int ranks;            // that it is shown on
  const char* options;  // that the fault needs to matter, "" none
  const char* op;       // the planted op; {L} is the layer
  const char* cause;    // as reports name it
  const char* at;       // the world rank where it is, {S} the layer's pipeline stage; "" all
  const char* text;
};

// Ends with a null name.
extern const fault_entry fault_table[];

// One line for each fault, tab-separated; "-" for nothing.
void print_faults();
bool is_fault(const std::string& name);

// Whether the fault acts here and now. Faults stay from their first step on.
class planted {
 public:
  explicit planted(const options& o) : name_(o.fault), layer_(o.fault_layer), step_(o.fault_step) {}
  [[nodiscard]] bool here(const char* name, std::int64_t step, std::int64_t layer) const {
    return !name_.empty() && name_ == name && step >= step_ && layer == layer_;
  }
  // In its first step only.
  [[nodiscard]] bool starts(const char* name, std::int64_t step, std::int64_t layer) const {
    return here(name, step, layer) && step == step_;
  }
  [[nodiscard]] bool now(const char* name, std::int64_t step) const { return here(name, step, layer_); }

 private:
  std::string name_;
  std::int64_t layer_, step_;
};

}  // namespace minigpt

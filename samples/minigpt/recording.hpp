#pragma once
// Opens numdiff's session as the command line asks, and tells it about the run.
#include <memory>

#include "engine.hpp"

namespace minigpt {

class recording {
 public:
  explicit recording(const engine& e);
  ~recording();
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

  void set_update(std::int64_t updates);

 private:
  struct session;
  std::unique_ptr<session> session_;
};

}  // namespace minigpt

#pragma once
// A session that records through the test sink into a directory of its own.
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "capture/support/recorded.hpp"
#include "numdiff/numdiff.hpp"
#include "numdiff/session.hpp"

namespace test {

// Sets an environment variable for as long as it lives.
class environment_variable {
 public:
  environment_variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  environment_variable(const environment_variable&) = delete;
  environment_variable& operator=(const environment_variable&) = delete;
  ~environment_variable() { unsetenv(name_); }

 private:
  const char* name_;
};

class recording {
 public:
  explicit recording(numdiff::level level = numdiff::level::sketch,
                     const std::function<void(numdiff::session_options&)>& change = {})
      : file_(directory_.file("run.messages")) {
    setenv("NUMDIFF_SINK", NUMDIFF_TEST_SINK_PATH, 1);
    numdiff::session_options o;
    o.file = file_.c_str();
    o.level = level;
    o.queue_bytes = 1 << 20;
    if (change) change(o);
    session_ = std::make_unique<numdiff::session>(o);
  }

  numdiff::session& session() { return *session_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string tail() const { return file_ + ".tail"; }

  // Closes the session; everything it recorded.
  std::vector<message> finish() {
    session_->close();
    return read_messages(file_);
  }

 private:
  temporary_directory directory_;
  std::string file_;
  std::unique_ptr<numdiff::session> session_;
};

inline std::vector<message> ops(const std::vector<message>& all) {
  return of_kind(all, numdiff::detail::message_kind::op);
}
inline std::vector<message> captures(const std::vector<message>& all) {
  return of_kind(all, numdiff::detail::message_kind::capture);
}
inline std::string manifest_value(const std::vector<message>& all, const std::string& key) {
  std::string value = "(not there)";
  for (const message& m : of_kind(all, numdiff::detail::message_kind::manifest)) {
    if (m.text(numdiff::detail::field::key) == key) value = m.text(numdiff::detail::field::value);
  }
  return value;
}

}  // namespace test

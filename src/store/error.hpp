#pragma once
// What storage throws. what() is one sentence: file, place in it, what is wrong, what to do.
#include <stdexcept>
#include <string>
#include <utility>

namespace numdiff::store {

class error : public std::runtime_error {
 public:
  // `object`: dataset or part of the file, "" for the whole; `operation`: "open", "read", ...
  error(std::string file, std::string object, std::string operation, const std::string& sentence)
      : std::runtime_error(file + (object.empty() ? "" : ": " + object) + ": " + sentence),
        file_(std::move(file)),
        object_(std::move(object)),
        operation_(std::move(operation)),
        sentence_(sentence) {}

  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] const std::string& object() const noexcept { return object_; }
  [[nodiscard]] const std::string& operation() const noexcept { return operation_; }
  [[nodiscard]] const std::string& sentence() const noexcept { return sentence_; }

 private:
  std::string file_, object_, operation_, sentence_;
};

}  // namespace numdiff::store

#pragma once
// The HDF5 C API, wrapped once: handles that close themselves and calls that throw store::error.
// Only src/store includes this.
#include <hdf5.h>

#include <string>
#include <utility>

#include "store/error.hpp"

namespace numdiff::store::h5 {

// Where an operation takes place, for errors.
struct place {
  const std::string& file;
  std::string object;
};

// Throws store::error with HDF5's own innermost reason.
[[noreturn]] void fail(const place& at, const char* operation);

inline void check(herr_t status, const place& at, const char* operation) {
  if (status < 0) fail(at, operation);
}

using closer = herr_t (*)(hid_t);

// Owns one identifier.
class handle {
 public:
  handle() = default;
  handle(hid_t id, closer close) noexcept : id_(id), close_(close) {}
  handle(handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  handle& operator=(handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  ~handle() { reset(); }

  [[nodiscard]] hid_t get() const noexcept { return id_; }
  [[nodiscard]] explicit operator bool() const noexcept { return id_ >= 0; }
  // Closes now; the status of the close, 0 when there was nothing to close.
  herr_t reset() noexcept {
    const hid_t id = std::exchange(id_, -1);
    return id >= 0 ? close_(id) : 0;
  }
  // Gives the identifier up without closing it.
  hid_t release() noexcept { return std::exchange(id_, -1); }

 private:
  hid_t id_ = -1;
  closer close_ = nullptr;
};

// Takes a fresh identifier or throws.
inline handle own(hid_t id, closer close, const place& at, const char* operation) {
  if (id < 0) fail(at, operation);
  return {id, close};
}

// No error printing by HDF5 in this thread while it lives; the host's setting comes back after.
class quiet {
 public:
  quiet() noexcept {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~quiet() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  quiet(const quiet&) = delete;
  quiet& operator=(const quiet&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

// "" when the HDF5 library in this process can be used, else the reason. HDF5 ends the process when
// its headers and library differ, so nothing else may be called before this.
std::string library_problem();

}  // namespace numdiff::store::h5

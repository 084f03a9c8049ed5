#pragma once
// Why a file could not be read, on its way from the process that found out.
#include <cstdint>
#include <exception>
#include <string>

#include "store/message_bytes.hpp"

namespace numdiff::store {

struct read_failure {
  enum class kind : std::uint8_t { refused, out_of_memory, other };
  kind what = kind::other;
  std::string file, object, operation, sentence;  // of store::error; else only the sentence

  static read_failure of(const std::exception& problem);
  static read_failure take(byte_reader& in);
  void put(byte_writer& out) const;
  // Throws what it was made of.
  [[noreturn]] void raise() const;
};

}  // namespace numdiff::store

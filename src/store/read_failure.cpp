#include "store/read_failure.hpp"

#include <new>
#include <stdexcept>

#include "store/error.hpp"

namespace numdiff::store {

read_failure read_failure::of(const std::exception& problem) {
  if (const auto* e = dynamic_cast<const error*>(&problem))
    return {kind::refused, e->file(), e->object(), e->operation(), e->sentence()};
  const bool memory = dynamic_cast<const std::bad_alloc*>(&problem) != nullptr;
  return {memory ? kind::out_of_memory : kind::other, {}, {}, {}, problem.what()};
}

read_failure read_failure::take(byte_reader& in) {
  read_failure f;
  f.what = in.get<kind>();
  for (std::string* text : {&f.file, &f.object, &f.operation, &f.sentence}) *text = in.get_text();
  return f;
}

void read_failure::put(byte_writer& out) const {
  out.put(what);
  for (const std::string* text : {&file, &object, &operation, &sentence}) out.put_text(*text);
}

void read_failure::raise() const {
  if (what == kind::refused) throw error(file, object, operation, sentence);
  if (what == kind::out_of_memory) throw std::bad_alloc();
  throw std::runtime_error(sentence);
}

}  // namespace numdiff::store

#pragma once
// Descriptors of run files that are read again and again, as many as the system allows: the one that was
// opened first is closed for the next.
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>

namespace numdiff::store {

class stored_file;

class open_files {
 public:
  static open_files& shared();
  // The descriptor stays open while the result lives. Throws store::error when the file cannot be opened or
  // is another one now.
  std::shared_ptr<const int> get(const stored_file& file);
  void forget(const stored_file& file) noexcept;

 private:
  open_files();
  struct entry {
    std::shared_ptr<const int> descriptor;
    std::list<const stored_file*>::iterator place;
  };
  std::mutex mutex_;
  std::size_t most_;
  std::map<const stored_file*, entry> open_;
  std::list<const stored_file*> order_;
};

}  // namespace numdiff::store

#pragma once
// Names of datasets in a views file: what HDF5 and people can use, whatever the program called its tensors.
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace numdiff::store {

class view_names {
 public:
  // The path to create for `path` + `suffix`. Empty parts and "." vanish, as HDF5 reads them; parts of
  // `path` are cut to `longest` bytes; "#2", "#3", ... behind a part tells apart what would be one name, and
  // a dataset from a group.
  std::string distinct(std::string_view path, std::string_view suffix = "");

  static constexpr std::size_t longest = 1000;  // HDF5 takes no names of 64 KiB

 private:
  enum class kind : unsigned char { group, dataset };
  struct entry {
    kind is;
    unsigned next = 2;  // number to try first when the name is wanted again
  };
  // `path` with `part` as its next name: the group of that name, or a name that is still free.
  std::string below(const std::string& path, std::string_view part, kind wanted);

  std::unordered_map<std::string, entry> taken_;
};

}  // namespace numdiff::store

#include "store/arrays/hdf5_objects.hpp"

#include <algorithm>
#include <cstring>

#include "store/isolate.hpp"

namespace numdiff::store {

namespace {

using model::named_object;
using model::object_kind;

constexpr std::size_t most_names = 1'000'000, most_bytes = std::size_t{256} << 20;
constexpr std::size_t deepest = 500;

struct link {
  std::string name;
  H5L_info_t info;
};

struct collector {
  std::vector<link> links;
  std::size_t room = 0;  // names that may still come
};

// Called by HDF5: nothing may be thrown.
herr_t collect(hid_t, const char* name, const H5L_info_t* info, void* into) noexcept {
  auto& all = *static_cast<collector*>(into);
  if (all.links.size() >= all.room) return 1;
  try {
    all.links.push_back({name, *info});
  } catch (...) {
    return -1;
  }
  return 0;
}

class lister {
 public:
  lister(hid_t file, const std::string& path) : file_(file), path_(path) {}

  void enter(const std::string& group, haddr_t address) {
    now_reading(path_);
    const h5::place at{path_, group};
    if (above_.size() >= deepest) throw error(path_, group, "read", "has groups more than 500 deep");
    above_.push_back(address);
    collector found;
    found.room = most_names - std::min(most_names, objects.size()) + 1;
    {
      const h5::handle id = h5::own(H5Gopen2(file_, group.c_str(), H5P_DEFAULT), H5Gclose, at, "read");
      hsize_t position = 0;
      if (H5Literate(id.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, collect, &found) < 0)
        h5::fail(at, "read");
      for (const link& l : found.links) add(id.get(), group, l);
    }
    above_.pop_back();
  }

  std::vector<named_object> objects;

 private:
  void put(const std::string& name, object_kind kind, const std::string& target = "") {
    bytes_ += name.size() + target.size();
    if (objects.size() >= most_names || bytes_ > most_bytes)
      throw error(path_, "", "read", "has more than a million names, or 256 MiB of them");
    objects.push_back({name, kind, target});
  }

  void add(hid_t group, const std::string& parent, const link& l) {
    const std::string name = (parent == "/" ? parent : parent + "/") + l.name;
    // HDF5 reads such a name as the group itself.
    if (l.name.empty() || l.name == "." || l.name.find('/') != std::string::npos)
      return put(name, object_kind::other_link, "a name that cannot be opened");
    if (l.info.type == H5L_TYPE_SOFT) return put(name, object_kind::soft_link, value_of(group, l).c_str());
    if (l.info.type == H5L_TYPE_EXTERNAL) return external(group, name, l);
    if (l.info.type != H5L_TYPE_HARD) return put(name, object_kind::other_link, "a link of an unknown kind");
    const h5::handle object(H5Oopen(group, l.name.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object) h5::fail({path_, name}, "open");
    switch (H5Iget_type(object.get())) {
      case H5I_DATASET: return put(name, object_kind::array);
      case H5I_DATATYPE: return put(name, object_kind::type);
      case H5I_GROUP: break;
      default: return put(name, object_kind::other_link, "an object of an unknown kind");
    }
    if (std::ranges::find(above_, l.info.u.address) != above_.end())
      return put(name, object_kind::cycle, "a group it is in");
    put(name, object_kind::group);
    enter(name, l.info.u.address);
  }

  std::string value_of(hid_t group, const link& l) {
    std::string value(l.info.u.val_size, '\0');
    if (H5Lget_val(group, l.name.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0) value = "?";
    return value;
  }

  void external(hid_t group, const std::string& name, const link& l) {
    const std::string value = value_of(group, l);
    unsigned flags = 0;
    const char *file = "", *object = "";
    if (H5Lunpack_elink_val(value.data(), value.size(), &flags, &file, &object) < 0)
      return put(name, object_kind::external_link, "?");
    put(name, object_kind::external_link, std::string(file) + ":" + object);
  }

  hid_t file_;
  const std::string& path_;
  std::vector<haddr_t> above_;  // addresses of the groups we are in
  std::size_t bytes_ = 0;
};

}  // namespace

std::vector<named_object> list_objects(hid_t file, const std::string& path) {
  H5O_info_t root{};
  const h5::place at{path, "/"};
  h5::check(H5Oget_info_by_name2(file, "/", &root, H5O_INFO_BASIC, H5P_DEFAULT), at, "read");
  lister l(file, path);
  l.objects.push_back({"/", object_kind::group, ""});
  l.enter("/", root.addr);
  std::ranges::sort(l.objects, {}, &named_object::name);
  return std::move(l.objects);
}

}  // namespace numdiff::store

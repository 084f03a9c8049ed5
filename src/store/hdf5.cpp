#include "store/hdf5.hpp"

#include <cctype>
#include <string_view>

namespace numdiff::store::h5 {

namespace {

herr_t take_description(unsigned, const H5E_error2_t* entry, void* out) {
  if (entry->desc != nullptr && *entry->desc != '\0') *static_cast<std::string*>(out) = entry->desc;
  return 1;  // the first entry is the innermost
}

// What the system said, where HDF5 quotes it among names, descriptors and addresses.
std::string system_message(const std::string& reason) {
  constexpr std::string_view before = "error message = '";
  const std::size_t at = reason.find(before);
  if (at == std::string::npos) return reason;
  const std::size_t begin = at + before.size();
  const std::size_t end = reason.find('\'', begin);
  return end == std::string::npos ? reason : reason.substr(begin, end - begin);
}

std::string version(unsigned major, unsigned minor, unsigned release) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace

void fail(const place& at, const char* operation) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_description, &reason);
  H5Eclear2(H5E_DEFAULT);
  reason = system_message(reason);
  for (char& c : reason)
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
  throw error(at.file, at.object, operation,
              std::string("cannot ") + operation + (reason.empty() ? "" : " (" + reason + ")"));
}

std::string library_problem() {
  unsigned major = 0, minor = 0, release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return "HDF5 does not start";
  if (major != H5_VERS_MAJOR || minor != H5_VERS_MINOR || release != H5_VERS_RELEASE)
    return "HDF5 " + version(major, minor, release) + " is loaded, numdiff was built for " +
           version(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
  hbool_t safe = 0;
  if (H5is_library_threadsafe(&safe) < 0 || safe == 0) return "the loaded HDF5 is not thread-safe";
  return "";
}

}  // namespace numdiff::store::h5

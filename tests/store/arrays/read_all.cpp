// libFuzzer entry: any bytes as a file of arrays are read or refused with store::error.
#include "read_all.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "store/arrays/open_arrays.hpp"
#include "store/error.hpp"

namespace {

using namespace numdiff;

void read(const model::array_info& info, std::unique_ptr<model::array_stream> stream) {
  constexpr std::uint64_t most = 1 << 20;
  std::uint64_t elements = 0;
  if (stream == nullptr || !model::multiply(info.shape, elements) || elements > most / info.element_bytes)
    return;
  static_cast<void>(stream->layout());
  std::vector<std::byte> all(elements * info.element_bytes);
  model::box where{model::extents(info.shape.size(), 0), info.shape};
  if (elements != 0) static_cast<void>(stream->read(where, all));
  // Also in two pieces, the second one first.
  if (info.shape.empty() || info.shape[0] < 2) return;
  where.first[0] = info.shape[0] / 2;
  where.count[0] -= where.first[0];
  static_cast<void>(stream->read(where, std::span(all).first(where.size() * info.element_bytes)));
  where.count[0] = where.first[0];
  where.first[0] = 0;
  static_cast<void>(stream->read(where, std::span(all).first(where.size() * info.element_bytes)));
}

bool readable(const model::array_info& info) {
  return info.unread.empty() && !info.null && info.element_bytes != 0;
}

void use(model::array_file& file) {
  for (const model::named_object& o : file.objects) {
    const bool array = o.kind == model::object_kind::array;
    if (array) {
      const model::array_info info = file.describe(o.name);
      if (readable(info)) read(info, file.open(o.name));
    }
    if (!array && o.kind != model::object_kind::group) continue;
    for (const std::string& name : file.attributes(o.name)) {
      const model::array_info info = file.describe_attribute(o.name, name);
      if (readable(info)) read(info, file.open_attribute(o.name, name));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = ::memfd_create("arrays", 0);
  if (file < 0) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::write(file, data, size) == static_cast<ssize_t>(size)) {
    const auto sort = size > 0 && data[0] == 'P'   ? store::file_sort::npz
                      : size > 1 && data[1] == 'N' ? store::file_sort::npy
                                                   : store::file_sort::hdf5;
    try {
      use(*store::open_arrays(path, sort));
    } catch (const store::error&) {
    }
  }
  ::close(file);
  return 0;
}

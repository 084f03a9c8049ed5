#include "store/views.hpp"

#include <unistd.h>

#include <string_view>
#include <utility>

#include "model/path.hpp"
#include "store/file_system.hpp"
#include "store/index_file.hpp"
#include "store/isolate.hpp"
#include "store/rank_tables.hpp"
#include "store/schema.hpp"
#include "store/table_file.hpp"
#include "store/view_names.hpp"

namespace numdiff::store {

namespace {

class view_file {
 public:
  view_file(const std::string& path, std::string source, const lengths& length)
      : path_(path), source_(std::move(source)), length_(length) {
    const h5::place here = at("");
    const h5::handle access = write_access(true, here);
    file_ =
        h5::own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose, here, "create");
    links_ = h5::own(H5Pcreate(H5P_LINK_CREATE), H5Pclose, here, "create");
    h5::check(H5Pset_create_intermediate_group(links_.get(), 1), here, "create");
    for (std::uint16_t d = 1; d < dtype_count; ++d) types_[d] = h5::code_type(static_cast<dtype>(d), here);
  }

  std::string distinct(std::string_view name, std::string_view suffix = "") {
    return names_.distinct(name, suffix);
  }

  // One dataset of `extents` over the elements from `first` on.
  h5::handle add(const std::string& name, dtype type, std::int64_t first, std::vector<hsize_t> extents) {
    const h5::place here = at(name);
    hsize_t count = 1;
    for (const hsize_t e : extents) count *= e;
    if (extents.empty()) extents.push_back(1);
    const h5::handle space =
        h5::own(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose, here,
                "create");
    const h5::handle properties = h5::own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, here, "create");
    h5::check(H5Pset_obj_track_times(properties.get(), false), here, "create");
    const std::size_t d = static_cast<std::size_t>(type);
    if (count > 0) {
      const hsize_t all = static_cast<hsize_t>(length_.payload[d]);
      const hsize_t start = static_cast<hsize_t>(first);
      const h5::handle from = h5::own(H5Screate_simple(1, &all, nullptr), H5Sclose, here, "create");
      h5::check(H5Sselect_hyperslab(from.get(), H5S_SELECT_SET, &start, nullptr, &count, nullptr), here,
                "create");
      h5::check(H5Pset_virtual(properties.get(), space.get(), source_.c_str(), payload_name(type).c_str(),
                               from.get()),
                here, "create");
    }
    return h5::own(H5Dcreate2(file_.get(), name.c_str(), types_[d].get(), space.get(), links_.get(),
                              properties.get(), H5P_DEFAULT),
                   H5Dclose, here, "create");
  }

  void describe(const h5::handle& data, const char* name, std::string_view text) {
    if (text.empty()) return;
    const h5::place here = at(name);
    const h5::handle type = h5::own(H5Tcopy(H5T_C_S1), H5Tclose, here, "describe");
    h5::check(H5Tset_size(type.get(), text.size()), here, "describe");
    const h5::handle space = h5::own(H5Screate(H5S_SCALAR), H5Sclose, here, "describe");
    const h5::handle attribute =
        h5::own(H5Acreate2(data.get(), name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                here, "describe");
    h5::check(H5Awrite(attribute.get(), type.get(), std::string(text).c_str()), here, "describe");
  }

  void close() { h5::check(file_.reset(), at(""), "close"); }

 private:
  [[nodiscard]] h5::place at(std::string object) const { return {path_, std::move(object)}; }

  const std::string& path_;
  std::string source_;
  lengths length_;
  h5::handle file_, links_;
  std::array<h5::handle, dtype_count> types_;
  view_names names_;
};

// The extents of the stored elements: the shape without the parts of a complex number, flat when the
// shape says something else.
std::vector<hsize_t> extents_of(const detail::shape_row& shape, std::int64_t elements) {
  std::vector<hsize_t> extents(shape.extent, shape.extent + shape.rank);
  const auto product = [&] {
    std::uint64_t n = 1;
    for (const hsize_t e : extents)
      if (__builtin_mul_overflow(n, e, &n)) return ~std::uint64_t{0};
    return n;
  };
  const auto n = static_cast<std::uint64_t>(elements);
  if (product() == n) return extents;
  if (!extents.empty() && extents.back() == 2) {
    extents.pop_back();
    if (product() == n) return extents;
  }
  return {n};
}

std::uint64_t write_all(const model::rank_data& rank, const lengths& length, const std::string& temporary) {
  view_file file(temporary, name_of_file(rank.path), length);
  const std::vector<std::uint32_t> calls = model::call_numbers(rank);
  std::uint64_t tensors = 0;
  for (const model::capture_row& c : rank.captures) {
    if (c.payload == -1) continue;
    const std::string name = file.distinct(model::tensor_path(rank, c, calls));
    const dtype type = static_cast<dtype>(c.dtype);
    const detail::shape_row scalar{};
    const auto& shape = c.shape < rank.shapes.size() ? rank.shapes[c.shape] : scalar;
    const h5::handle data =
        file.add(name, type, c.payload, extents_of(shape, c.count / (is_complex(type) ? 2 : 1)));
    file.describe(data, "dtype", name_of(type));
    file.describe(data, "axes", rank.strings[c.axes]);
    file.describe(data, "scaling", rank.strings[c.scaling]);
    file.describe(data, "placement", rank.strings[c.placement]);
    ++tensors;
    const auto beside = [&](const char* suffix, std::int64_t first, std::int64_t count, std::uint16_t t) {
      if (first == -1) return;
      const h5::handle codes =
          file.add(file.distinct(name, suffix), static_cast<dtype>(t), first, {static_cast<hsize_t>(count)});
      file.describe(codes, "dtype", name_of(static_cast<dtype>(t)));
    };
    beside(".scales", c.scale_payload, c.scale_count, c.scale_dtype);
    beside(".zero_points", c.zero_point_payload, c.zero_point_count, c.zero_point_dtype);
  }
  file.close();
  return tensors;
}

written_views views_of(const std::string& path) {
  const h5::quiet no_printing;
  rank_tables tables = read_rank(path);
  if (tables.in_writing || tables.has_tail)
    throw error(path, "", "make views", "was not closed; run `numdiff repair` on it first");
  const lengths length = tables.length;
  const model::rank_data rank = to_rank(std::move(tables), path);
  written_views result{views_file(path), 0};
  const std::string temporary = result.path + ".birth." + std::to_string(::getpid());
  try {
    result.tensors = write_all(rank, length, temporary);
    rename_file(temporary, result.path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  return result;
}

}  // namespace

std::vector<written_views> make_views(const std::string& path, const view_options& options) {
  const auto one = [&](const std::string& file) {
    if (options.isolate) try_in_child(file, [&] { to_rank(read_rank(file), file); });
    return views_of(file);
  };
  if (!is_index(path)) return {one(path)};
  std::vector<written_views> results;
  for (const std::string& name : read_index(path).files) {
    const std::string file = directory_of(path) + "/" + name;
    if (facts_of(file).exists) results.push_back(one(file));
  }
  return results;
}

}  // namespace numdiff::store

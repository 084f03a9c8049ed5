#include "store/envelope_file.hpp"

#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "store/file_system.hpp"
#include "store/guards.hpp"
#include "store/isolate.hpp"
#include "store/schema.hpp"
#include "store/table_file.hpp"
#include "store/table_reader.hpp"

namespace numdiff::store {

namespace {

// scope, op and tensor count the texts of /names.
struct spread_row {
  std::int64_t step;
  double relative_l2, unit;
  std::uint32_t scope, op, tensor, call, ordinal, pairs, different, repeats_differ;
  std::int32_t micro_batch;
  std::uint16_t phase, role, usage;
};

const std::vector<member>& members() {
  static const std::vector<member> list = {
      {"step", scalar::i64, offsetof(spread_row, step), 1},
      {"relative_l2", scalar::f64, offsetof(spread_row, relative_l2), 1},
      {"unit", scalar::f64, offsetof(spread_row, unit), 1},
      {"scope", scalar::u32, offsetof(spread_row, scope), 1},
      {"op", scalar::u32, offsetof(spread_row, op), 1},
      {"tensor", scalar::u32, offsetof(spread_row, tensor), 1},
      {"call", scalar::u32, offsetof(spread_row, call), 1},
      {"ordinal", scalar::u32, offsetof(spread_row, ordinal), 1},
      {"pairs", scalar::u32, offsetof(spread_row, pairs), 1},
      {"different", scalar::u32, offsetof(spread_row, different), 1},
      {"repeats_differ", scalar::u32, offsetof(spread_row, repeats_differ), 1},
      {"micro_batch", scalar::i32, offsetof(spread_row, micro_batch), 1},
      {"phase", scalar::u16, offsetof(spread_row, phase), 1},
      {"role", scalar::u16, offsetof(spread_row, role), 1},
      {"usage", scalar::u16, offsetof(spread_row, usage), 1},
  };
  return list;
}

// Texts one after the other, each with a zero byte behind it.
class text_list {
 public:
  std::uint32_t add(const std::string& text) {
    const auto [at, fresh] = known_.emplace(text, static_cast<std::uint32_t>(known_.size()));
    if (fresh) bytes_ += text + '\0';
    return at->second;
  }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::map<std::string, std::uint32_t> known_;
  std::string bytes_;
};

std::vector<std::string> split(const std::string& bytes) {
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = bytes.find('\0', begin);
    texts.push_back(bytes.substr(begin, end - begin));
    begin = end == std::string::npos ? bytes.size() : end + 1;
  }
  return texts;
}

void write_dataset(hid_t file, hid_t type, std::size_t rows, const void* data, const h5::place& at) {
  const hsize_t extent = rows;
  const h5::handle space = h5::own(H5Screate_simple(1, &extent, nullptr), H5Sclose, at, "create");
  const h5::handle properties = h5::own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, at, "create");
  h5::check(H5Pset_obj_track_times(properties.get(), false), at, "create");
  h5::handle set = h5::own(
      H5Dcreate2(file, at.object.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose, at, "create");
  if (rows > 0) h5::check(H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), at, "write");
  h5::check(set.reset(), at, "close");
}

void create(const std::string& temporary, const std::string& path, const model::envelope& envelope) {
  const h5::place at{path, ""};
  const h5::handle access = write_access(false, at);
  h5::handle file =
      h5::own(H5Fcreate(temporary.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose, at, "create");
  write_root_attributes(file.get(), "envelope", at);
  text_list names;
  std::string runs;
  for (const std::string& run : envelope.runs) runs += run + '\0';
  std::vector<spread_row> rows;
  rows.reserve(envelope.spreads.size());
  for (const auto& [where, s] : envelope.spreads) {
    rows.push_back({where.step, s.relative_l2, s.unit, names.add(where.scope), names.add(where.op),
                    names.add(where.tensor), where.call, where.ordinal, s.pairs, s.different,
                    s.repeats_differ ? 1U : 0U, where.micro_batch, static_cast<std::uint16_t>(where.phase),
                    static_cast<std::uint16_t>(where.role), static_cast<std::uint16_t>(where.usage)});
  }
  const h5::place spreads{path, "/spreads"};
  const h5::handle type = h5::compound(members(), sizeof(spread_row), spreads);
  write_dataset(file.get(), type.get(), rows.size(), rows.data(), spreads);
  write_dataset(file.get(), H5T_STD_U8LE, names.bytes().size(), names.bytes().data(), {path, "/names"});
  write_dataset(file.get(), H5T_STD_U8LE, runs.size(), runs.data(), {path, "/runs"});
  write_dataset(file.get(), H5T_STD_U64LE, 1, &envelope.not_measured, {path, "/not_measured"});
  h5::check(file.reset(), at, "close");
}

guarded_dataset require(const guarded_file& file, const h5::place& at) {
  std::optional<guarded_dataset> data = open_guarded(file, at);
  if (!data) throw error(at.file, at.object, "read", "is missing: the envelope is damaged");
  return std::move(*data);
}

std::string read_bytes(const guarded_file& file, const h5::place& at) {
  const guarded_dataset data = require(file, at);
  require_stored(file, data, data.rows, 1, at);
  std::string bytes(static_cast<std::size_t>(data.rows), '\0');
  if (!bytes.empty())
    read_plain(file, data, H5T_STD_U8LE, 0, data.rows, reinterpret_cast<std::byte*>(bytes.data()), at);
  return bytes;
}

model::envelope load(const std::string& path) {
  const h5::quiet no_printing;
  const no_plugins none;
  const guarded_file file = open_guarded(path);
  if (file.kind != "envelope")
    throw error(path, "", "open", "is no envelope: make one with numdiff envelope");
  model::envelope envelope;
  envelope.path = path;
  const std::vector<std::string> names = split(read_bytes(file, {path, "/names"}));
  envelope.runs = split(read_bytes(file, {path, "/runs"}));
  const h5::place counted{path, "/not_measured"};
  const guarded_dataset count = require(file, counted);
  if (count.rows != 1) throw error(path, counted.object, "read", "is no number: the envelope is damaged");
  read_plain(file, count, H5T_STD_U64LE, 0, 1, reinterpret_cast<std::byte*>(&envelope.not_measured), counted);

  const h5::place at{path, "/spreads"};
  const guarded_dataset data = require(file, at);
  require_rows(file, data, data.rows, sizeof(spread_row), at);
  std::vector<spread_row> rows(static_cast<std::size_t>(data.rows));
  if (!rows.empty())
    read_compound(data, 0, data.rows, members(), sizeof(spread_row),
                  reinterpret_cast<std::byte*>(rows.data()), at);
  for (const spread_row& row : rows) {
    if (row.scope >= names.size() || row.op >= names.size() || row.tensor >= names.size())
      throw error(path, at.object, "read", "names what is not there: the envelope is damaged");
    if (!(row.relative_l2 >= 0) || !std::isfinite(row.relative_l2) || !(row.unit >= 0))
      throw error(path, at.object, "read", "holds distances that are none: the envelope is damaged");
    model::capture_place where;
    where.step = row.step;
    where.micro_batch = row.micro_batch;
    where.phase = static_cast<phase>(row.phase);
    where.role = static_cast<role>(row.role);
    where.usage = static_cast<usage>(row.usage);
    where.call = row.call;
    where.ordinal = row.ordinal;
    where.scope = names[row.scope];
    where.op = names[row.op];
    where.tensor = names[row.tensor];
    model::spread s;
    s.relative_l2 = row.relative_l2;
    s.unit = row.unit;
    s.pairs = row.pairs;
    s.different = row.different;
    s.repeats_differ = row.repeats_differ != 0;
    envelope.spreads.emplace(std::move(where), s);
  }
  return envelope;
}

}  // namespace

void write_envelope(const std::string& path, const model::envelope& envelope) {
  const h5::quiet no_printing;
  require_displaceable(path);
  const std::string temporary = path + ".birth." + std::to_string(::getpid());
  try {
    create(temporary, path, envelope);
    displace_file(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

model::envelope load_envelope(const std::string& path) {
  try_in_child(path, [&] { load(path); });
  return load(path);
}

}  // namespace numdiff::store

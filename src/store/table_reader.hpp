#pragma once
// Reads rows by member name: members the file lacks are "not recorded", others it has are ignored.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "store/guards.hpp"
#include "store/tables.hpp"

namespace numdiff::store {

// Throws unless the dataset holds `rows` rows that are wide enough to be rows of `row_bytes`.
void require_rows(const guarded_file& file, const guarded_dataset& data, std::uint64_t rows,
                  std::size_t row_bytes, const h5::place& at);

// Copies rows [first, first + count) into `out`, whose rows of `row_bytes` hold "not recorded".
void read_compound(const guarded_dataset& data, std::uint64_t first, std::uint64_t count,
                   const std::vector<member>& members, std::size_t row_bytes, std::byte* out,
                   const h5::place& at);

// Rows as they are stored, `type` is the dataset's.
void read_raw(const guarded_dataset& data, hid_t type, std::uint64_t first, std::uint64_t count, void* out,
              const h5::place& at);

// Raw rows of a dataset whose type must equal `type`.
void read_plain(const guarded_file& file, const guarded_dataset& data, hid_t type, std::uint64_t first,
                std::uint64_t count, std::byte* out, const h5::place& at);

template <class Row>
std::vector<Row> read_rows(const guarded_file& file, const guarded_dataset& data, std::uint64_t first,
                           std::uint64_t count, const h5::place& at) {
  require_rows(file, data, first + count, sizeof(Row), at);
  std::vector<Row> rows(static_cast<std::size_t>(count), not_recorded<Row>());
  read_compound(data, first, count, members_of<Row>(), sizeof(Row), reinterpret_cast<std::byte*>(rows.data()),
                at);
  return rows;
}

}  // namespace numdiff::store

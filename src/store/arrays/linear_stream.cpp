#include "store/arrays/linear_stream.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "store/error.hpp"
#include "store/isolate.hpp"

namespace numdiff::store {

namespace {

class file_bytes final : public byte_source {
 public:
  explicit file_bytes(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) throw error(path, "", "open", std::string("cannot be opened: ") + std::strerror(errno));
  }
  ~file_bytes() override { ::close(file_); }

  void read(std::uint64_t offset, std::span<std::byte> out) override {
    now_reading(path_);
    while (!out.empty()) {
      const ssize_t n = ::pread(file_, out.data(), out.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw error(path_, "", "read", std::string("cannot be read: ") + std::strerror(errno));
      if (n == 0) throw error(path_, "", "read", "is truncated: an array reaches beyond its end");
      out = out.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
  }
  [[nodiscard]] bool sequential() const override { return false; }

 private:
  std::string path_;
  int file_;
};

// Calls use(index of the first element in storage, elements, index of the first in the box) for every run of
// elements that follow each other in storage, in storage order.
class linear_stream final : public model::array_stream {
 public:
  linear_stream(std::unique_ptr<byte_source> source, std::uint64_t offset, const model::array_info& info,
                bool column_major)
      : source_(std::move(source)),
        offset_(offset),
        shape_(info.shape),
        width_(info.element_bytes),
        column_major_(column_major && info.shape.size() > 1) {}

  [[nodiscard]] model::array_layout layout() const override {
    model::array_layout how;
    how.column_major = column_major_;
    how.sequential = source_->sequential();
    return how;
  }

  bool read(const model::box& where, std::span<std::byte> out) override {
    const std::uint64_t count = where.size();
    if (count == 0) return true;
    // A box that covers all dimensions behind one is in one piece along that one.
    std::size_t rank = shape_.size();
    std::uint64_t run = 1;
    bool whole = true;
    std::size_t outer = rank;  // storage dimensions [0, outer) are walked, slowest first
    while (outer > 0 && whole) {
      const std::size_t d = dimension(outer - 1);
      run *= where.count[d];
      whole = where.count[d] == shape_[d];
      --outer;
    }
    std::vector<std::uint64_t> at(outer, 0);
    buffer_.resize(column_major_ ? run * width_ : 0);
    for (std::uint64_t done = 0;;) {
      std::uint64_t element = 0;
      for (std::size_t s = 0; s < rank; ++s) {
        const std::size_t d = dimension(s);
        element = element * shape_[d] + where.first[d] + (s < outer ? at[s] : 0);
      }
      const std::uint64_t begin = offset_ + element * width_;
      if (column_major_) {
        source_->read(begin, buffer_);
        scatter(where, at, run, out);
      } else {
        source_->read(begin, out.subspan(done * width_, run * width_));
      }
      done += run;
      std::size_t s = outer;
      while (s > 0 && ++at[s - 1] == where.count[dimension(s - 1)]) at[--s] = 0;
      if (s == 0) break;
    }
    return true;
  }

 private:
  // The s-th dimension in storage, slowest first.
  [[nodiscard]] std::size_t dimension(std::size_t s) const {
    return column_major_ ? shape_.size() - 1 - s : s;
  }

  // Puts a run of a column-major array, which begins at the walked dimensions `at`, into its places.
  void scatter(const model::box& where, const std::vector<std::uint64_t>& at, std::uint64_t run,
               std::span<std::byte> out) const {
    const std::size_t rank = shape_.size();
    std::vector<std::uint64_t> step(rank, 1), index(rank, 0);
    for (std::size_t d = rank - 1; d > 0; --d) step[d - 1] = step[d] * where.count[d];
    for (std::size_t s = 0; s < at.size(); ++s) index[dimension(s)] = at[s];
    const std::uint64_t along = where.count[0];
    for (std::uint64_t done = 0; done < run; done += along) {
      std::uint64_t to = 0;
      for (std::size_t d = 1; d < rank; ++d) to += index[d] * step[d];
      for (std::uint64_t i = 0; i < along; ++i)
        std::memcpy(out.data() + (to + i * step[0]) * width_, buffer_.data() + (done + i) * width_, width_);
      for (std::size_t d = 1; d < rank && ++index[d] == where.count[d]; ++d) index[d] = 0;
    }
  }

  std::unique_ptr<byte_source> source_;
  std::uint64_t offset_;
  model::extents shape_;
  std::uint64_t width_;
  bool column_major_;
  std::vector<std::byte> buffer_;
};

}  // namespace

std::unique_ptr<byte_source> open_bytes(const std::string& path) {
  return std::make_unique<file_bytes>(path);
}

std::unique_ptr<model::array_stream> open_linear(std::unique_ptr<byte_source> source, std::uint64_t offset,
                                                 const model::array_info& info, bool column_major) {
  return std::make_unique<linear_stream>(std::move(source), offset, info, column_major);
}

}  // namespace numdiff::store

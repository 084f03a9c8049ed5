#include "store/arrays/zip_member.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "store/error.hpp"
#include "store/isolate.hpp"

namespace numdiff::store {

namespace {

class zip_member final : public byte_source {
 public:
  zip_member(std::shared_ptr<zip_archive> archive, zip_uint64_t index)
      : archive_(std::move(archive)), index_(index) {
    const std::lock_guard lock(archive_->one_at_a_time);
    zip_stat_t facts{};
    zip_stat_init(&facts);
    packed_ = zip_stat_index(archive_->get(), index, 0, &facts) != 0 ||
              (facts.valid & ZIP_STAT_COMP_METHOD) == 0 || facts.comp_method != ZIP_CM_STORE;
    restart();
  }
  ~zip_member() override {
    const std::lock_guard lock(archive_->one_at_a_time);
    zip_fclose(file_);
  }

  void read(std::uint64_t offset, std::span<std::byte> out) override {
    now_reading(archive_->path);
    const std::lock_guard lock(archive_->one_at_a_time);
    if (offset != at_ && !packed_) {
      if (zip_fseek(file_, static_cast<zip_int64_t>(offset), SEEK_SET) != 0) fail();
      at_ = offset;
    }
    if (offset < at_) {
      zip_fclose(file_);
      restart();
    }
    std::vector<std::byte> skipped(std::min<std::uint64_t>(offset - at_, std::uint64_t{1} << 20));
    while (at_ < offset)
      take(std::span(skipped).first(std::min<std::uint64_t>(skipped.size(), offset - at_)));
    take(out);
  }
  [[nodiscard]] bool sequential() const override { return packed_; }

 private:
  [[noreturn]] void fail() {
    throw error(archive_->path, "", "read", std::string("is damaged: ") + zip_file_strerror(file_));
  }

  void restart() {
    file_ = zip_fopen_index(archive_->get(), index_, 0);
    if (file_ == nullptr)
      throw error(archive_->path, "", "read",
                  std::string("cannot be read: ") + zip_strerror(archive_->get()));
    at_ = 0;
  }

  void take(std::span<std::byte> out) {
    while (!out.empty()) {
      const zip_int64_t n = zip_fread(file_, out.data(), out.size());
      if (n < 0) fail();
      if (n == 0) throw error(archive_->path, "", "read", "is truncated: a member ends before its array");
      out = out.subspan(static_cast<std::size_t>(n));
      at_ += static_cast<std::uint64_t>(n);
    }
  }

  std::shared_ptr<zip_archive> archive_;
  zip_uint64_t index_;
  zip_file_t* file_ = nullptr;
  std::uint64_t at_ = 0;
  bool packed_ = true;
};

}  // namespace

zip_archive::zip_archive(const std::string& file) : path(file) {
  now_reading(path);
  int code = 0;
  archive_ = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (archive_ != nullptr) return;
  zip_error_t problem;
  zip_error_init_with_code(&problem, code);
  const std::string why = zip_error_strerror(&problem);
  zip_error_fini(&problem);
  throw error(path, "", "open", "cannot be read as a .npz archive: " + why);
}

zip_archive::~zip_archive() {
  zip_discard(archive_);
}

std::uint64_t size_of_member(zip_archive& archive, zip_uint64_t index) {
  const std::lock_guard lock(archive.one_at_a_time);
  const auto refuse = [&] {
    throw std::invalid_argument(std::string("cannot be read: ") + zip_strerror(archive.get()));
  };
  zip_stat_t facts{};
  zip_stat_init(&facts);
  if (zip_stat_index(archive.get(), index, 0, &facts) != 0 || (facts.valid & ZIP_STAT_SIZE) == 0) refuse();
  zip_file_t* file = zip_fopen_index(archive.get(), index, 0);
  if (file == nullptr) refuse();
  zip_fclose(file);
  return facts.size;
}

std::unique_ptr<byte_source> open_member(std::shared_ptr<zip_archive> archive, zip_uint64_t index) {
  return std::make_unique<zip_member>(std::move(archive), index);
}

}  // namespace numdiff::store

#include "store/rank_files.hpp"

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "store/rank_message.hpp"
#include "store/rank_tables.hpp"
#include "store/reading_children.hpp"
#include "store/team.hpp"

namespace numdiff::store {

namespace {

rank_file_content content_of(const std::string& path) {
  rank_tables tables = read_rank(path);
  rank_file_content content;
  content.warning = std::move(tables.tail_problem);
  content.rank = to_rank(std::move(tables), path);
  return content;
}

std::vector<std::byte> bytes_of(const rank_file_content& content) {
  byte_writer out;
  out.put_text(content.warning);
  put_rank(out, content.rank);
  return out.take();
}

rank_file_content content_of(std::span<const std::byte> bytes) {
  byte_reader in(bytes);
  rank_file_content content;
  content.warning = in.get_text();
  content.rank = take_rank(in);
  return content;
}

// What a process of a team sends: the content of a file, why one could not be read, or that nothing follows.
enum class news : std::uint8_t { content, failure, end };

constexpr std::uint64_t no_file = std::numeric_limits<std::uint64_t>::max();

void send_failure(team& others, std::uint64_t file, const read_failure& why) {
  byte_writer out;
  out.put(news::failure);
  out.put(file);
  why.put(out);
  others.send(out.bytes());
}

void send_content(team& others, std::uint64_t file, std::span<const std::byte> bytes) {
  byte_writer out;
  out.put(news::content);
  out.put(file);
  out.put_list(bytes);
  others.send(out.bytes());
}

void send_end(team& others) {
  byte_writer out;
  out.put(news::end);
  out.put(no_file);
  others.send(out.bytes());
}

class team_reader {
 public:
  team_reader(std::span<const std::string> paths, team* others)
      : paths_(paths),
        team_(others),
        size_(others != nullptr ? others->size() : 1),
        number_(others != nullptr ? others->number() : 0) {
    for (std::size_t i = number_; i < paths.size(); i += size_) share_.push_back(i);
  }

  std::vector<rank_file_content> run() {
    if (number_ > 0) {
      read_for_first();
      return {};
    }
    std::vector<rank_file_content> all(paths_.size());
    note(read([&](std::size_t file, std::span<const std::byte> bytes) { all[file] = content_of(bytes); }));
    for (std::size_t from = 1; from < size_; ++from) take_from(from, all);
    if (failed_) failed_->why.raise();
    return all;
  }

 private:
  template <class Take>
  std::optional<failed_reading> read(Take take) {
    std::vector<file_to_read> files;
    for (const std::size_t i : share_)
      files.push_back({paths_[i], [this, i] { return bytes_of(content_of(paths_[i])); },
                       [take, i](std::span<const std::byte> bytes) { take(i, bytes); }});
    std::optional<failed_reading> failed = read_in_children(files);
    if (failed) failed->file = share_[failed->file];
    return failed;
  }

  // Nothing is sent before all is read: the way of talking is not for processes that start others.
  void read_for_first() {
    std::vector<std::vector<std::byte>> contents(paths_.size());
    const auto keep = [&](std::size_t file, std::span<const std::byte> bytes) {
      contents[file].assign(bytes.begin(), bytes.end());
    };
    if (const std::optional<failed_reading> failed = read(keep)) {
      send_failure(*team_, failed->file, failed->why);
    } else {
      for (const std::size_t file : share_) send_content(*team_, file, std::exchange(contents[file], {}));
    }
    send_end(*team_);
  }

  void take_from(std::size_t other, std::vector<rank_file_content>& all) {
    for (;;) {
      const std::vector<std::byte> message = team_->receive(other);
      byte_reader in(message);
      const auto what = in.get<news>();
      const auto file = in.get<std::uint64_t>();
      if (what == news::end) return;
      if (what == news::failure)
        note(failed_reading{static_cast<std::size_t>(file), read_failure::take(in)});
      else if (!failed_)
        all.at(static_cast<std::size_t>(file)) = content_of(in.get_span());
    }
  }

  void note(std::optional<failed_reading> failed) {
    if (failed && (!failed_ || failed->file < failed_->file)) failed_ = std::move(failed);
  }

  std::span<const std::string> paths_;
  team* team_;
  std::size_t size_, number_;
  std::vector<std::size_t> share_;
  std::optional<failed_reading> failed_;
};

}  // namespace

std::vector<rank_file_content> read_rank_files(std::span<const std::string> paths, const load_options& how) {
  if (how.isolate) return team_reader(paths, how.team).run();
  std::vector<rank_file_content> all;
  for (const std::string& path : paths) all.push_back(content_of(path));
  return all;
}

void tell_failure(team& others, const std::exception& problem) {
  send_failure(others, no_file, read_failure::of(problem));
  send_end(others);
}

void drain(team& others) {
  for (std::size_t from = 1; from < others.size(); ++from) {
    for (;;) {
      const std::vector<std::byte> message = others.receive(from);
      if (byte_reader(message).get<news>() == news::end) break;
    }
  }
}

}  // namespace numdiff::store

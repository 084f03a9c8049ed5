#include "model/mapping.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <unordered_map>

namespace numdiff::model {

namespace {

// What the stars of `pattern` match in `text`, each as little as fits; nothing when they do not match.
std::optional<std::vector<std::string_view>> stars(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos)
    return pattern == text ? std::optional<std::vector<std::string_view>>(std::in_place) : std::nullopt;
  if (text.substr(0, star) != pattern.substr(0, star) || text.size() < star) return std::nullopt;
  for (std::size_t length = 0; star + length <= text.size(); ++length) {
    auto rest = stars(pattern.substr(star + 1), text.substr(star + length));
    if (!rest) continue;
    rest->insert(rest->begin(), text.substr(star, length));
    return rest;
  }
  return std::nullopt;
}

std::string filled(std::string_view pattern, const std::vector<std::string_view>& by) {
  std::string text;
  std::size_t next = 0;
  for (const char c : pattern) {
    if (c == '*')
      text += by[next++];
    else
      text += c;
  }
  return text;
}

std::optional<std::string> mapped_by(const mapping_line& line, std::string_view name) {
  if (const auto found = stars(line.test, name)) return filled(line.reference, *found);
  const bool below = line.what == named::scope && line.test.find('*') == std::string::npos &&
                     name.size() > line.test.size() && name.substr(0, line.test.size()) == line.test &&
                     name[line.test.size()] == '.';
  if (below) return line.reference + std::string(name.substr(line.test.size()));
  return std::nullopt;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line.substr(0, line.find('#'))) {
    const bool space = c == ' ' || c == '\t' || c == '\r';
    if (!space) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

// New numbers for the names of one rank, each asked for once.
class renamer {
 public:
  renamer(string_table& strings, const std::vector<mapping_line>& lines, std::vector<std::size_t>& uses)
      : strings_(strings), lines_(lines), uses_(uses) {}

  std::uint32_t operator()(named what, std::uint32_t id) {
    auto& known = known_[static_cast<std::size_t>(what)];
    if (const auto at = known.find(id); at != known.end()) return at->second;
    std::size_t used = 0;
    std::string name = mapped(lines_, what, strings_[id], used);
    const std::uint32_t now = used < lines_.size() ? strings_.add(std::move(name)) : id;
    if (used < lines_.size()) ++uses_[used];
    known.emplace(id, now);
    return now;
  }

 private:
  string_table& strings_;
  const std::vector<mapping_line>& lines_;
  std::vector<std::size_t>& uses_;
  std::array<std::unordered_map<std::uint32_t, std::uint32_t>, 3> known_;
};

}  // namespace

std::vector<mapping_line> parse_mapping(std::string_view text) {
  std::vector<mapping_line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    const auto refuse = [&](const std::string& why) {
      throw std::invalid_argument("line " + std::to_string(number) + ": " + why);
    };
    mapping_line line;
    line.number = number;
    if (words.size() != 3) refuse("give scope, op or tensor, the reference's name and the test run's");
    if (words[0] == "op")
      line.what = named::op;
    else if (words[0] == "tensor")
      line.what = named::tensor;
    else if (words[0] != "scope")
      refuse("'" + words[0] + "' is not scope, op or tensor");
    line.reference = words[1];
    line.test = words[2];
    if (std::ranges::count(line.reference, '*') != std::ranges::count(line.test, '*'))
      refuse("give both names as many '*'");
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string mapped(const std::vector<mapping_line>& lines, named what, std::string_view name,
                   std::size_t& used) {
  for (used = 0; used < lines.size(); ++used) {
    if (lines[used].what != what) continue;
    if (auto other = mapped_by(lines[used], name)) return std::move(*other);
  }
  return std::string(name);
}

std::vector<std::size_t> rename(run& test, const std::vector<mapping_line>& lines) {
  std::vector<std::size_t> uses(lines.size());
  for (rank_data& rank : test.ranks) {
    renamer name(rank.strings, lines, uses);
    for (op_row& op : rank.ops) {
      op.scope = name(named::scope, op.scope);
      op.name = name(named::op, op.name);
    }
    for (capture_row& capture : rank.captures) capture.name = name(named::tensor, capture.name);
  }
  return uses;
}

}  // namespace numdiff::model

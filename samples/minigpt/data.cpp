#include "data.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "random.hpp"

namespace minigpt {
namespace {

std::vector<std::string> default_files() {
  const std::filesystem::path root = MINIGPT_SOURCE_ROOT;
  std::vector<std::string> files{(root / "LICENSE").string()};
  std::vector<std::string> docs;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs", none))
    if (entry.path().extension() == ".md") docs.push_back(entry.path().string());
  std::sort(docs.begin(), docs.end());
  files.insert(files.end(), docs.begin(), docs.end());
  return files;
}

tensor integers(const engine& e, const std::vector<std::int32_t>& values) {
  tensor t(dtype::i32, {static_cast<std::int64_t>(values.size())}, e.tokens());
  std::memcpy(t.codes.data(), values.data(), t.codes.size());
  return t;
}

}  // namespace

text_data::text_data(const options& o) {
  for (const std::string& file : o.data.empty() ? default_files() : o.data) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + file);
    std::ostringstream all;
    all << in.rdbuf();
    text_ += all.str();
  }
  if (text_.size() < 2 * static_cast<std::size_t>(o.sequence) + 2)
    throw std::runtime_error("the text is too short");
}

token_batch text_data::batch(const engine& e) const {
  const std::int64_t n = e.config.sequence, first = e.local_batch() * e.world.dp().at;
  std::vector<std::int32_t> ids, targets, positions;
  for (std::int64_t b = first; b < first + e.local_batch(); ++b) {
    random_stream random(e.config.seed ^ (static_cast<std::uint64_t>(e.step * e.config.batch + b) << 20U));
    const std::uint64_t begin = random.bits() % (text_.size() - static_cast<std::size_t>(n) - 1);
    for (std::int64_t t = 0; t < n; ++t) {
      const std::size_t at = begin + static_cast<std::size_t>(t);
      ids.push_back(static_cast<unsigned char>(text_[at]));
      targets.push_back(static_cast<unsigned char>(text_[at + 1]));
      positions.push_back(static_cast<std::int32_t>(e.config.position_offset + t));
    }
  }
  return {integers(e, ids), integers(e, targets), integers(e, positions)};
}

}  // namespace minigpt

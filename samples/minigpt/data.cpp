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

tensor integers(const std::vector<std::int32_t>& values, placement place) {
  tensor t(dtype::i32, {static_cast<std::int64_t>(values.size())}, std::move(place));
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

std::size_t text_data::begin(const engine& e, std::int64_t sequence) const {
  random_stream random(
      e.config.seed ^
      (static_cast<std::uint64_t>(e.step * e.config.batch + e.micro_batch * e.sequences() + sequence)
       << 20U));
  return random.bits() % (text_.size() - static_cast<std::size_t>(e.config.sequence) - 1);
}

token_batch text_data::batch(const engine& e) const {
  const std::int64_t n = e.config.sequence;
  std::vector<std::int32_t> ids, targets, positions;
  const placement residual = e.residual(), products = e.tokens();
  for (const std::int64_t token : residual.rows->ids()) {
    const std::size_t at = begin(e, token / n) + static_cast<std::size_t>(token % n);
    ids.push_back(static_cast<unsigned char>(text_[at]));
    targets.push_back(static_cast<unsigned char>(text_[at + 1]));
  }
  for (const std::int64_t token : products.rows->ids())
    positions.push_back(static_cast<std::int32_t>(e.config.position_offset + token % n));
  return {integers(ids, residual), integers(targets, residual), integers(positions, products)};
}

}  // namespace minigpt

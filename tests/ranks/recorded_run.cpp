#include "ranks/recorded_run.hpp"

#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "store/load.hpp"

namespace numdiff::testing {

recorded_run::recorded_run(const reproduce::program& what, std::int32_t ranks, level l,
                           const std::string& shards) {
  std::string name = (std::filesystem::temp_directory_path() / "numdiff_ranks_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
  if (!shards.empty()) setenv("NUMDIFF_SHARDS", shards.c_str(), 1);
  const std::string file = (folder_ / "run.h5").string();
  reproduce::record(what, file, ranks, l);
  unsetenv("NUMDIFF_SHARDS");
  store::load_options own;
  own.isolate = false;
  run_ = store::load_run(file, own);
}

recorded_run::~recorded_run() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string told(const analysis::comparison& c) {
  std::string text = analysis::name_of(c.verdict);
  for (const analysis::finding& f : c.findings) {
    text +=
        "\n  " + f.rule + " " + analysis::text_of(f.where) + " " + f.cause + (f.benign ? " (benign) " : " ");
    for (const std::int32_t r : f.where.ranks) text += "rank " + std::to_string(r) + " ";
    if (f.where.all_ranks) text += "all ranks ";
    text += f.message;
    for (const auto& [key, value] : f.evidence) text += " " + key + "=" + std::to_string(value);
  }
  for (const auto& because : c.incomplete_because) text += "\n  incomplete: " + because;
  for (const auto& w : c.warnings) text += "\n  warning: " + w;
  return text;
}

double number(const analysis::comparison& c, const std::string& name) {
  if (c.first_divergence) {
    for (const auto& [key, value] : c.first_divergence->evidence)
      if (key == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace numdiff::testing

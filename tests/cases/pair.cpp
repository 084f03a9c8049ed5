#include "cases/pair.hpp"

#include <filesystem>
#include <limits>
#include <stdexcept>

#include "store/load.hpp"

namespace numdiff::testing {

namespace {

class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "numdiff_case_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string text_of(const analysis::finding& f) {
  return f.where.op + " " + f.symptom + " " + f.cause;
}

}  // namespace

analysis::comparison compared(const program& reference, const program& test, std::int32_t reference_ranks,
                              std::int32_t test_ranks) {
  const folder here;
  record(reference, here / "reference.h5", reference_ranks);
  record(test, here / "test.h5", test_ranks);
  store::load_options own;
  own.isolate = false;
  const model::run a = store::load_run(here / "reference.h5", own),
                   b = store::load_run(here / "test.h5", own);
  return analysis::compare(a, b);
}

std::string first(const analysis::comparison& c) {
  return c.first_divergence ? text_of(*c.first_divergence) : "none";
}

std::string nonfinite(const analysis::comparison& c) {
  return c.nonfinite_origin ? c.nonfinite_origin->where.op : "none";
}

std::string lost(const analysis::comparison& c) {
  std::string list;
  for (const analysis::finding& f : c.information_lost)
    list += (list.empty() ? "" : ", ") + f.where.op + " " + f.symptom;
  return list;
}

double number(const analysis::comparison& c, const std::string& name) {
  if (c.first_divergence) {
    for (const auto& [key, value] : c.first_divergence->evidence)
      if (key == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string told(const analysis::comparison& c) {
  std::string text =
      std::string(analysis::name_of(c.verdict)) + "; nonfinite " + nonfinite(c) + "; lost " + lost(c);
  for (const analysis::finding& f : c.findings) {
    text += "\n  " + f.rule + " " + text_of(f) + (f.benign ? " (benign) " : " ") + f.where.tensor + ": " +
            f.message;
    for (const auto& [key, value] : f.evidence) text += " " + key + "=" + std::to_string(value);
  }
  for (const auto& w : c.incomplete_because) text += "\n  incomplete: " + w;
  for (const auto& w : c.warnings) text += "\n  warning: " + w;
  for (const auto& r : c.worst)
    text += "\n  worst " + r.where.op + "/" + r.where.tensor + " " + analysis::name_of(r.verdict) + " " +
            r.reason;
  return text;
}

}  // namespace numdiff::testing

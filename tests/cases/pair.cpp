#include "cases/pair.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
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

analysis::comparison compared_at(level l, const program& reference, const program& test,
                                 std::int32_t reference_ranks, std::int32_t test_ranks) {
  const folder here;
  record(reference, here / "reference.h5", reference_ranks, l);
  record(test, here / "test.h5", test_ranks, l);
  store::load_options own;
  own.isolate = false;
  const model::run a = store::load_run(here / "reference.h5", own),
                   b = store::load_run(here / "test.h5", own);
  return analysis::compare(a, b);
}

// With less recorded: the same answer, or a cause that stays open at the same op, or captures that are
// undecided; never another cause, and nothing where nothing is wrong.
void check_sketch(const analysis::comparison& full, const analysis::comparison& sketch) {
  INFO("level sketch: " << told(sketch));
  if (!sketch.first_divergence) {
    const analysis::totals& t = sketch.totals;
    const std::uint64_t open = t.undecided + t.not_comparable + t.reference.auxiliary_undecided +
                               t.test.auxiliary_undecided + t.reference.only_there + t.test.only_there;
    CHECK((!full.first_divergence || open > 0));
    return;
  }
  REQUIRE(full.first_divergence);
  CHECK(sketch.first_divergence->where.op == full.first_divergence->where.op);
  const std::string& cause = sketch.first_divergence->cause;
  CHECK((cause == full.first_divergence->cause || cause == "open"));
}

// One line for tests/measure/cases.sh.
void note(const analysis::comparison& full, const analysis::comparison& sketch) {
  const char* path = std::getenv("NUMDIFF_CASES_TABLE");
  if (path == nullptr) return;
  const doctest::TestCaseData& test = *doctest::getContextOptions()->currentTest;
  std::ofstream(path, std::ios::app) << std::filesystem::path(test.m_file.c_str()).stem().string() << '|'
                                     << test.m_name << '|' << first(full) << '|' << nonfinite(full) << '|'
                                     << lost(full) << '|' << analysis::name_of(full.verdict) << '|'
                                     << first(sketch) << '|' << sketch.totals.undecided << '\n';
}

}  // namespace

analysis::comparison compared(const program& reference, const program& test, std::int32_t reference_ranks,
                              std::int32_t test_ranks) {
  const auto at = [&](level l) { return compared_at(l, reference, test, reference_ranks, test_ranks); };
  analysis::comparison full = at(level::tensors);
  const analysis::comparison sketch = at(level::sketch);
  check_sketch(full, sketch);
  note(full, sketch);
  return full;
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

#include "cases/pair.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <utility>

#include "store/load.hpp"

namespace numdiff::testing {

namespace {

std::size_t count_of(const std::vector<std::int64_t>& shape) {
  std::size_t n = 1;
  for (const std::int64_t d : shape) n *= static_cast<std::size_t>(d);
  return n;
}

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

bool record_here(const program& what, const std::string& file, std::int32_t ranks, std::int32_t rank) {
  session_options options;
  options.file = file.c_str();
  options.level = level::tensors;
  options.run_id = "case";
  options.world_size = ranks;
  options.rank = rank;
  options.wait_ms = 10000;
  options.queue_bytes = 1 << 20;
  session s(options);
  if (s.active()) what(s, rank);
  const bool recorded = s.active() && session::statistics().refused == 0;
  s.close();
  if (session::last_error()[0] != '\0') std::fprintf(stderr, "%s\n", session::last_error());
  return recorded && session::last_error()[0] == '\0';
}

void record(const program& what, const std::string& file, std::int32_t ranks) {
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no child process");
    if (child == 0) _exit(record_here(what, file, ranks, rank) ? 0 : 1);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
      throw std::runtime_error("a run was not recorded");
  }
}

std::string text_of(const analysis::finding& f) {
  return f.where.op + " " + f.symptom + " " + f.cause;
}

}  // namespace

array::array(dtype type, std::vector<std::int64_t> shape, double value)
    : array(type, shape, std::vector<double>(count_of(shape), value)) {}

array::array(dtype type, std::vector<std::int64_t> shape, const std::vector<double>& values, cast_rule rule)
    : type_(type),
      width_(static_cast<std::size_t>(bytes_of(type))),
      shape_(std::move(shape)),
      codes_(count_of(shape_) * width_) {
  if (values.size() != size()) throw std::runtime_error("values do not fill the shape");
  for (std::size_t i = 0; i < values.size(); ++i) set(i, values[i], rule);
}

double array::operator[](std::size_t i) const {
  std::uint64_t code = 0;
  std::memcpy(&code, codes_.data() + i * width_, width_);
  return decode(type_, code);
}

void array::set(std::size_t i, double value, cast_rule rule) {
  const std::uint64_t code = encode(type_, value, rule);
  std::memcpy(codes_.data() + i * width_, &code, width_);
}

array array::as(dtype type, cast_rule rule) const {
  return array(type, shape_, values(), rule);
}

std::vector<double> array::values() const {
  std::vector<double> list(size());
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = (*this)[i];
  return list;
}

numdiff::view array::seen() const {
  return numdiff::view(codes_.data(), type_, extents(shape_.data(), static_cast<int>(shape_.size())));
}

array mapped(dtype type, std::vector<std::int64_t> shape, const std::function<double(std::size_t)>& f,
             cast_rule rule) {
  array a(type, std::move(shape));
  for (std::size_t i = 0; i < a.size(); ++i) a.set(i, f(i), rule);
  return a;
}

double rounded(dtype type, double x, cast_rule rule) {
  return decode(type, encode(type, x, rule));
}

std::vector<double> normal(std::size_t count, std::uint64_t seed, double deviation, double mean) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (static_cast<double>(state >> 11U) + 0.5) * 0x1p-53;
  };
  std::vector<double> list(count);
  for (double& x : list) {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    x = mean + deviation * radius * std::cos(6.283185307179586 * uniform());
  }
  return list;
}

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

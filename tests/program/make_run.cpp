// Writes a run file for the tests of the program: a small network with known faults.
//   make_run FILE [program=plain|bf16|truncating|nan|other|empty] [level=stats|sketch|tensors]
//                 [run_id=TEXT] [rank=R] [world=W] [seed=N] [end=close|kill]
// bf16 stores every tensor in bf16 and adds in f32; truncating is bf16 whose residual add in layer 1 cuts
// at step 1; nan writes one NaN into the product of layer 0 at step 2; other names its ops differently. With
// ORDER=reverse in the environment, which no run records, products are added up from their end.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "numdiff/numdiff.hpp"
#include "numdiff/session.hpp"

namespace {

using numdiff::dtype;

constexpr std::int64_t rows = 16, columns = 32;

struct recipe {
  bool truncating = false, nan = false, other = false, renamed = false;
  std::int32_t world = 1;
};

// Deterministic values around 1; every second one negative.
struct generator {
  std::uint64_t state;
  double next() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double unit = static_cast<double>(state >> 11U) * 0x1p-53;
    return ((state & 1U) != 0 ? -1.0 : 1.0) * (0.25 + unit);
  }
};

template <dtype T>
class network {
 public:
  network(const recipe& how, std::uint64_t seed) : how_(how), random_{seed} {
    for (auto& w : weights_) w = drawn(columns * columns, 0.2);
  }

  void run() {
    for (std::int64_t step = 0; step < 3; ++step) {
      NUMDIFF_STEP(step);
      NUMDIFF_PHASE(forward);
      NUMDIFF_SCOPE(how_.renamed ? "model.blocks" : "decoder.layer");
      std::vector<word> x = drawn(rows * columns, 1.0);
      for (int layer = 0; layer < 2; ++layer) {
        NUMDIFF_SCOPE(layer == 0 ? "0" : "1");
        const std::vector<word> y = product(x, weights_[layer], how_.nan && step == 2 && layer == 0);
        x = sum(x, y, how_.truncating && step == 1 && layer == 1);
      }
    }
  }

 private:
  using word = numdiff::storage<T>;

  std::vector<word> drawn(std::int64_t count, double scale) {
    std::vector<word> list;
    for (std::int64_t i = 0; i < count; ++i)
      list.push_back(stored(static_cast<float>(random_.next() * scale), {}));
    return list;
  }

  static word stored(float value, numdiff::cast_rule rule) {
    return {static_cast<numdiff::code_word<T>>(numdiff::encode(T, value, rule))};
  }

  numdiff::view seen(const std::vector<word>& data, std::int64_t m) const {
    const numdiff::view v(data.data(), T, {m, static_cast<std::int64_t>(data.size()) / m});
    return how_.world > 1 ? v.replicated("dp") : v;
  }

  std::vector<word> product(const std::vector<word>& x, const std::vector<word>& w, bool broken) {
    NUMDIFF_OP(op, how_.other || how_.renamed ? "linear" : "fc", matmul,
               numdiff::dtypes(T, dtype::f32, T)
                   .mnk(rows, columns, columns)
                   .order(numdiff::reduction_order::sequential));
    NUMDIFF_INPUT(op, "x", seen(x, rows));
    NUMDIFF_WEIGHT(op, how_.renamed ? "weight" : "w", seen(w, columns));
    std::vector<word> y(x.size());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        float total = 0;
        for (std::int64_t k = 0; k < columns; ++k) {
          const std::int64_t term = reverse_ ? columns - 1 - k : k;
          total += static_cast<float>(x[at(i, term)]) * static_cast<float>(w[at(term, j)]);
        }
        y[at(i, j)] = stored(total, {});
      }
    if (broken) y[7] = stored(std::numeric_limits<float>::quiet_NaN(), {});
    NUMDIFF_OUTPUT(op, "y", seen(y, rows));
    return y;
  }

  std::vector<word> sum(const std::vector<word>& x, const std::vector<word>& y, bool cuts) {
    NUMDIFF_OP(op, how_.other ? "plus" : "residual", add, numdiff::dtypes(T, dtype::f32, T));
    NUMDIFF_INPUT(op, "x", seen(x, rows));
    NUMDIFF_INPUT(op, "y", seen(y, rows));
    numdiff::cast_rule rule;
    if (cuts) rule.round = numdiff::rounding::toward_zero;
    std::vector<word> z;
    for (std::size_t i = 0; i < x.size(); ++i)
      z.push_back(stored(static_cast<float>(x[i]) + static_cast<float>(y[i]), rule));
    NUMDIFF_OUTPUT(op, "z", seen(z, rows));
    return z;
  }

  static std::size_t at(std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * columns + j); }

  recipe how_;
  bool reverse_ = std::getenv("ORDER") != nullptr && std::string(std::getenv("ORDER")) == "reverse";
  generator random_;
  std::vector<word> weights_[2];
};

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> given = {{"program", "plain"}, {"level", "tensors"}, {"run_id", "run"},
                                              {"rank", "0"},        {"world", "1"},       {"seed", "1"},
                                              {"names", "own"},     {"end", "close"}};
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    given[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  if (argc < 2 || given.size() != 8) return std::fputs("usage: make_run FILE [key=value]...\n", stderr), 2;

  recipe how;
  const std::string& program = given["program"];
  how.truncating = program == "truncating";
  how.nan = program == "nan";
  how.other = program == "other";
  how.renamed = given["names"] == "other";
  how.world = std::atoi(given["world"].c_str());

  numdiff::session_options options;
  options.file = argv[1];
  options.level = given["level"] == "stats"    ? numdiff::level::stats
                  : given["level"] == "sketch" ? numdiff::level::sketch
                                               : numdiff::level::tensors;
  options.run_id = given["run_id"].c_str();
  options.world_size = how.world;
  options.rank = std::atoi(given["rank"].c_str());
  options.wait_ms = 10000;
  numdiff::session session(options);
  if (!session.active()) return std::fprintf(stderr, "make_run: %s\n", session.last_error()), 1;
  if (how.world > 1) session.mesh("dp", how.world, options.rank);
  session.manifest("seed", given["seed"].c_str());

  const std::uint64_t seed = std::strtoull(given["seed"].c_str(), nullptr, 10);
  if (program == "bf16" || program == "truncating") {
    network<dtype::bf16>(how, seed).run();
  } else if (program != "empty") {
    network<dtype::f32>(how, seed).run();
  }
  if (given["end"] == "kill") std::raise(SIGKILL);
  session.close();
  if (session.last_error()[0] != '\0') return std::fprintf(stderr, "make_run: %s\n", session.last_error()), 1;
  return 0;
}

// power FILE SEED FORMAT LEVEL CAUSE SIZE TRIALS SIDE KINDS [EXPECTED...]: records a run of TRIALS ops of the
// kinds that are given (joined by commas), each with its own inputs of SIDE x SIDE elements in scope
// trial.<n>, and prints the rms error of each against the exact result of the same inputs. FORMAT is f64,
// f32, bf16, f16, e4m3, mx or nvfp4; with +N, as in bf16+32, an op that nobody knows has moved the inputs by
// N unit roundoffs before. LEVEL tensors or sketch; EXPECTED are the honest errors of the trials, which cause
// noise is measured in.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "measure/power/fault.hpp"
#include "numdiff/accumulate.hpp"
#include "numdiff/session.hpp"

using namespace power;
using sizes = benign::shape;
using benign::stored;

namespace {

struct formats {
  dtype real = dtype::bf16, inner = dtype::f32;
  bool scaled = false;
  numdiff::recipe recipe = {};
  std::optional<double> apart = {};  // of inputs from those of the reference, relative
};

formats formats_of(const std::string& text) {
  formats f;
  if (const std::size_t plus = text.find('+'); plus != std::string::npos) {
    f = formats_of(text.substr(0, plus));
    const int bits = numdiff::format_of(f.real).precision();
    f.apart = std::ldexp(std::strtod(text.c_str() + plus + 1, nullptr), -bits);
    return f;
  }
  const std::string& name = text;
  if (name == "f64") return {dtype::f64, dtype::f64};
  if (name == "f32") return {dtype::f32, dtype::f32};
  if (name == "f16") return {dtype::f16, dtype::f32};
  if (name == "bf16") return f;
  f.scaled = true;
  f.recipe = name == "mx"      ? numdiff::recipe_mx(dtype::f8e4m3fn, numdiff::mx_rule::rceil)
             : name == "nvfp4" ? numdiff::recipe_nvfp4()
                               : numdiff::recipe_tensor(dtype::f8e4m3fn);
  return f;
}

class trials {
 public:
  trials(const formats& f, const fault& what, std::uint64_t seed, std::int64_t side)
      : f_(f), fault_(what), random_(seed), places_(seed + 1), moves_(seed + 2), side_(side) {}

  [[nodiscard]] double inherited() const { return inherited_; }
  // Returns the rms error against the exact result.
  double run(const std::string& kind, double expected) {
    fault_.expected = expected;
    inherited_ = 0;
    if (kind == "matmul") return product();
    if (kind == "cast") return cast();
    if (kind == "softmax" || kind == "rms_norm") return rows(kind);
    if (kind == "sum") return sum();
    const tensor x = source({side_, side_}), y = source({side_, side_});
    values exact(x.size()), z(x.size());
    for (std::size_t i = 0; i < z.size(); ++i) {
      exact[i] = kind == "add" ? x[i] + y[i] : x[i] * y[i];
      z[i] = f_.real == f_.inner ? exact[i] : in_inner(exact[i]);  // rounded once or twice
    }
    if (kind == "add") inherited_ = moved(x) + moved(y);
    numdiff::op op(kind.c_str(), kind.c_str(), numdiff::dtypes(f_.real, f_.inner, f_.real));
    op.capture(numdiff::role::input, "x", x.view());
    op.capture(numdiff::role::input, "y", y.view());
    return finish(op, {side_, side_}, z, exact);
  }

 private:
  [[nodiscard]] tensor source(const sizes& s, double deviation = 1) {
    std::normal_distribution<double> normal;
    values x(static_cast<std::size_t>(benign::count_of(s)));
    for (double& v : x) v = deviation * normal(random_);
    const tensor before = stored(f_.real, s, x);
    if (!f_.apart) return before;
    for (double& v : x) v += deviation * *f_.apart * normal(moves_);
    const tensor after = stored(f_.real, s, x);
    numdiff::op op("made", "made", numdiff::dtypes(f_.real, f_.inner, f_.real));
    op.capture(numdiff::role::input, "x", before.view());
    op.capture(numdiff::role::output, "y", after.view());
    return after;
  }
  [[nodiscard]] double in_inner(double x) const {
    return f_.inner == dtype::f64 ? x : static_cast<double>(static_cast<float>(x));
  }
  // The matrix as a product reads it, its cast recorded.
  tensor operand(const char* name, const tensor& x, bool columns) {
    if (!f_.scaled) return x;
    const tensor y = benign::quantised(x, columns ? numdiff::columnwise(f_.recipe) : f_.recipe);
    numdiff::op op((std::string(name) + ".cast").c_str(), "cast",
                   numdiff::dtypes(x.type, dtype::f32, y.type));
    op.capture(numdiff::role::input, "x", x.view());
    op.cast("y", x.view(), y.view());
    return y;
  }

  double finish(numdiff::op& op, const sizes& s, values z, const values& exact) {
    values steps(z.size());
    for (std::size_t i = 0; i < z.size(); ++i) steps[i] = step_of(f_.real, z[i]);
    fault_.spoil(z, steps, static_cast<std::size_t>(s.back()), places_);
    const tensor y = stored(f_.real, s, z);
    op.capture(numdiff::role::output, "y", y.view());
    inherited_ /= std::sqrt(static_cast<double>(y.size()));
    return distance(y.x, exact);
  }
  // Euclidean norms of a source's values, and of what they were moved by, about.
  static double norm(const tensor& t) {
    double s = 0;
    for (const double v : t.x) s += v * v;
    return std::sqrt(s);
  }
  [[nodiscard]] double moved(const tensor& t) const {
    if (f_.apart) return *f_.apart * norm(t);
    double s = 0;
    for (const double v : t.x) s += step_of(t.type, v) * step_of(t.type, v) / 12;
    return std::sqrt(s);
  }
  static double distance(const values& a, const values& b) {
    double s = 0;
    for (std::size_t i = 0; i < a.size(); ++i) s += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(s / static_cast<double>(a.size()));
  }

  double product() {
    const bool narrow = fault_.what == cause::accumulate;
    const auto k =
        narrow ? static_cast<std::int64_t>(fault_.size)
               : static_cast<std::int64_t>(16 + random_() % 113) * std::max<std::int64_t>(1, side_ / 128);
    const tensor plain_a = source({side_, k}), plain_b = source({k, side_}, 0.1);
    const tensor a = operand("x", plain_a, false), b = operand("w", plain_b, true);
    values exact(static_cast<std::size_t>(side_ * side_), 0), z = exact;
    const auto n = static_cast<std::size_t>(side_), length = static_cast<std::size_t>(k);
    std::vector<float> sums(n);
    const auto added =
        fault_.what == cause::dropped ? length - static_cast<std::size_t>(fault_.size) : length;
    for (std::size_t i = 0; i < n; ++i) {
      std::fill(sums.begin(), sums.end(), 0.0F);
      for (std::size_t q = 0; q < length; ++q) {
        const double left = a[i * length + q];
        const auto short_left = static_cast<float>(left);
        const double* right = b.x.data() + q * n;
        for (std::size_t j = 0; j < n; ++j) exact[i * n + j] += left * right[j];
        if (q >= added) continue;
        if (f_.inner == dtype::f32 && !narrow)
          for (std::size_t j = 0; j < n; ++j) sums[j] += short_left * static_cast<float>(right[j]);
        for (std::size_t j = 0; j < n && narrow; ++j)
          z[i * n + j] = numdiff::multiply_add_rounded(dtype::bf16, z[i * n + j], left, right[j]);
      }
      for (std::size_t j = 0; j < n && !narrow; ++j)
        z[i * n + j] = f_.inner == dtype::f64 ? exact[i * n + j] : static_cast<double>(sums[j]);
    }
    inherited_ = moved(a) * norm(b) + moved(b) * norm(a);
    numdiff::op op("matmul", "matmul",
                   numdiff::dtypes(a.type, b.type, f_.inner, f_.real).mnk(side_, side_, k));
    op.capture(numdiff::role::input, "x", a.view());
    op.capture(numdiff::role::weight, "w", b.view());
    return finish(op, {side_, side_}, z, exact);
  }

  double rows(const std::string& kind) {
    const tensor x = source({side_, side_}), gamma = source({side_});
    const auto n = static_cast<std::size_t>(side_);
    values exact(x.size()), z(x.size());
    for (std::size_t i = 0; i < z.size(); i += n) {
      double sum = 0, top = x[i];
      float short_sum = 0;
      for (std::size_t j = 0; j < n; ++j) top = std::max(top, x[i + j]);
      const auto part = [&](std::size_t j) {
        return kind == "softmax" ? std::exp(x[i + j] - top) : x[i + j] * x[i + j];
      };
      for (std::size_t j = 0; j < n; ++j) {
        sum += part(j);
        short_sum += static_cast<float>(part(j));
      }
      for (std::size_t j = 0; j < n; ++j) {
        const auto value = [&](double s) {
          return kind == "softmax" ? part(j) / s
                                   : x[i + j] / std::sqrt(s / static_cast<double>(n) + 1e-5) * gamma[j];
        };
        exact[i + j] = value(sum);
        z[i + j] = in_inner(value(f_.inner == dtype::f64 ? sum : static_cast<double>(short_sum)));
      }
    }
    numdiff::op op(kind.c_str(), kind.c_str(), numdiff::dtypes(f_.real, f_.inner, f_.real).reduction(side_));
    op.capture(numdiff::role::input, "x", x.view());
    if (kind == "rms_norm") {
      op.capture(numdiff::role::weight, "gamma", gamma.view());
      op.scalar("eps", 1e-5);
    }
    return finish(op, {side_, side_}, z, exact);
  }

  double sum() {
    const auto addends = static_cast<std::int64_t>(8 + random_() % 57);
    const tensor x = source({addends, side_ * side_});
    values exact(static_cast<std::size_t>(side_ * side_), 0), z = exact;
    for (std::size_t i = 0; i < x.size(); ++i) {
      exact[i % z.size()] += x[i];
      z[i % z.size()] = in_inner(z[i % z.size()] + x[i]);
    }
    inherited_ = std::sqrt(static_cast<double>(addends)) * moved(x);
    numdiff::op op("sum", "sum", numdiff::dtypes(f_.real, f_.inner, f_.real).reduction(addends));
    op.capture(numdiff::role::input, "x", x.view());
    return finish(op, {side_ * side_}, z, exact);
  }

  double cast() {
    const tensor x = source({side_, side_});
    tensor spoilt = x;
    numdiff::recipe recipe = f_.recipe;
    if (fault_.what == cause::stale) {
      double amax = 0;
      for (const double v : x.x) amax = std::max(amax, std::fabs(v));
      recipe.given_encode_scale = static_cast<float>(448 * fault_.size / amax);
    }
    const tensor honest = benign::quantised(x, recipe);
    const auto unit_of = [&](std::size_t i) {
      const auto width = static_cast<std::size_t>(side_);
      return static_cast<double>(
                 honest.scales.decode_scales[honest.scales.scale_index(i / width, i % width)]) *
             static_cast<double>(honest.scales.global_decode_scale);
    };
    values steps(x.size());
    for (std::size_t i = 0; i < steps.size(); ++i)
      steps[i] = unit_of(i) * step_of(honest.type, x[i] / unit_of(i));
    // The scales stay those of the clean values: only what is rounded is spoilt.
    fault_.spoil(spoilt.x, steps, static_cast<std::size_t>(side_), places_);
    tensor y = honest;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (spoilt[i] == x[i]) continue;
      const std::uint64_t code = numdiff::encode(honest.type, spoilt[i] / unit_of(i));
      y.codes[i] = static_cast<std::byte>(code);
      y.x[i] = numdiff::decode(honest.type, code) * unit_of(i);
    }
    numdiff::op op("cast", "cast", numdiff::dtypes(x.type, dtype::f32, y.type));
    op.capture(numdiff::role::input, "x", x.view());
    op.cast("y", x.view(), y.view());
    return distance(y.x, x.x);
  }

  formats f_;
  fault fault_;
  std::mt19937_64 random_, places_, moves_;
  std::int64_t side_;
  double inherited_ = 0;
};

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 10) {
    std::fprintf(stderr, "usage: power FILE SEED FORMAT LEVEL CAUSE SIZE TRIALS SIDE KINDS [EXPECTED...]\n");
    return 2;
  }
  const std::string level = argv[4];
  numdiff::session_options options;
  options.file = argv[1];
  options.level = level == "sketch" ? numdiff::level::sketch : numdiff::level::tensors;
  options.run_id = "power";
  options.wait_ms = 60000;
  numdiff::session session(options);
  const fault what{cause_of(argv[5]), std::strtod(argv[6], nullptr), 0};
  const std::vector<std::string> kinds = parts_of(argv[9]);
  trials all(formats_of(argv[3]), what, std::strtoull(argv[2], nullptr, 10),
             std::strtoll(argv[8], nullptr, 10));
  for (int i = 0; i < std::atoi(argv[7]); ++i) {
    const auto scope = numdiff::scoped::name(("trial." + std::to_string(i)).c_str());
    const std::string& kind = kinds[static_cast<std::size_t>(i) % kinds.size()];
    const double error = all.run(kind, argc > 10 + i ? std::strtod(argv[10 + i], nullptr) : 0);
    std::printf("%d\t%s\t%.17g\t%.17g\n", i, kind.c_str(), error, all.inherited());
  }
  const bool whole = session.active() && numdiff::session::statistics().refused == 0;
  session.close();
  if (!whole) std::fprintf(stderr, "power: %s was not recorded\n", argv[1]);
  return whole ? 0 : 1;
}

// Accuracy of the float functors: greatest error in units of the last place against the C library in long double, per
// instruction set, over samples spread through all exponents, with extremes. Bounds are stated per function.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/elementwise/loops.h"
#include "kernels/isa.h"

namespace hw {
namespace {

using Exact = long double (*)(long double);
struct Bound {
  const char* op;
  Exact exact;
  double f32, f64;          // units of the last place
  double below = INFINITY;  // |x| up to which the bound holds
};

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double logit_inner(long double x) { return std::log(x / (1 - x)); }

const Bound kBounds[] = {
    {"exp", [](long double x) { return std::exp(x); }, 1, 1},
    {"exp2", [](long double x) { return std::exp2(x); }, 1.5, 1.5},
    {"expm1", [](long double x) { return std::expm1(x); }, 1.75, 1.75},
    {"log", [](long double x) { return std::log(x); }, 1, 1},
    {"log2", [](long double x) { return std::log2(x); }, 2, 2},
    {"log10", [](long double x) { return std::log10(x); }, 2.5, 2.5},
    {"log1p", [](long double x) { return std::log1p(x); }, 1.5, 1.5},
    {"sin", [](long double x) { return std::sin(x); }, 1.75, 1.75, 1e5},
    {"cos", [](long double x) { return std::cos(x); }, 1.75, 1.75, 1e5},
    {"tan", [](long double x) { return std::tan(x); }, 3.5, 3.5, 1e5},
    {"asin", [](long double x) { return std::asin(x); }, 2.25, 2},
    {"acos", [](long double x) { return std::acos(x); }, 1.5, 1.5},
    {"atan", [](long double x) { return std::atan(x); }, 2.25, 2.25},
    {"sinh", [](long double x) { return std::sinh(x); }, 2.5, 2.5},
    {"cosh", [](long double x) { return std::cosh(x); }, 2, 2},
    {"tanh", [](long double x) { return std::tanh(x); }, 2.5, 2.5},
    {"asinh", [](long double x) { return std::asinh(x); }, 3, 3},
    {"acosh", [](long double x) { return std::acosh(x); }, 3, 3},
    {"atanh", [](long double x) { return std::atanh(x); }, 3, 3},
    {"sigmoid", sigmoid, 2.5, 2.5, 80},
    {"erf", [](long double x) { return std::erf(x); }, 1.5, 1},
    {"erfc", [](long double x) { return std::erfc(x); }, 4, 4},
    {"lgamma", [](long double x) { return std::lgamma(x); }, 1, 4},
    {"rsqrt", [](long double x) { return 1 / std::sqrt(x); }, 1.5, 1.5},
    {"logit", logit_inner, 4, 4, 0.4},
};

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

/// Spread evenly over the bit patterns, hence over exponents; more around 1; and what is special.
template <class T>
std::vector<T> samples() {
  std::vector<T> x;
  constexpr Bits<T> most = ~Bits<T>(0);
  const Bits<T> step = most / 60000 | 1;
  for (Bits<T> u = 0; u < most - step; u += step) x.push_back(std::bit_cast<T>(u));
  for (int k = -40000; k <= 40000; ++k) x.push_back(static_cast<T>(k) * static_cast<T>(0.00051));
  for (int k = -3000; k <= 3000; ++k) x.push_back(static_cast<T>(k) * static_cast<T>(0.251));
  for (int k = -2000; k <= 2000; ++k) x.push_back(static_cast<T>(k * (std::numbers::pi / 4)));
  const T tiny = std::numeric_limits<T>::denorm_min(), least = std::numeric_limits<T>::min(),
          most_finite = std::numeric_limits<T>::max();
  for (T v : {T(0), tiny, least, T(1), std::nextafter(T(1), T(0)), std::nextafter(T(1), T(2)), T(88.7228), T(709.78),
              T(2), T(1000), most_finite, std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()}) {
    x.push_back(v);
    x.push_back(-v);
  }
  return x;
}

/// Distance of a result from the exact value, in units of the last place of T there.
template <class T>
double error_in_ulp(T got, long double exact) {
  const T nearest = static_cast<T>(exact);
  if (std::isnan(nearest)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(nearest) || std::isinf(got)) {
    if (got == nearest) return 0;
    // Rounding may go either way at the end of the range.
    return std::fabs(std::isinf(got) ? nearest : got) == std::numeric_limits<T>::max() &&
                   std::signbit(got) == std::signbit(nearest)
               ? 1
               : INFINITY;
  }
  if (nearest == 0 && got == 0) return std::signbit(got) == std::signbit(nearest) ? 0 : INFINITY;
  const T a = std::fabs(nearest);
  const long double ulp = static_cast<long double>(std::nextafter(a, std::numeric_limits<T>::infinity())) - a;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / ulp);
}

template <class T>
void measure(const Bound& b, DType dtype, double bound) {
  static const std::vector<T> x = samples<T>();
  std::vector<T> y(x.size());
  const ElementwiseEntry* entry = find_elementwise(b.op, dtype);
  ASSERT_TRUE(entry) << b.op;
  const void* in[] = {x.data()};
  entry->loop(in, y.data(), static_cast<int64_t>(x.size()), LoopParams().data());
  double worst = 0;
  T at = 0, value = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::fabs(x[i]) > b.below && std::isfinite(x[i])) continue;
    const double e = error_in_ulp(y[i], b.exact(static_cast<long double>(x[i])));
    if (!(e <= worst)) worst = e, at = x[i], value = y[i];
  }
  if (std::getenv("HEADWATER_PRINT_ERRORS"))
    std::printf("%-10s %-7s %s %.3f ulp at %.9g\n", b.op, std::string(isa_name(isa())).c_str(),
                sizeof(T) == 4 ? "f32" : "f64", worst, static_cast<double>(at));
  EXPECT_LE(worst, bound) << b.op << " on " << isa_name(isa()) << " for " << dtype_name(dtype) << " at " << at
                          << ": got " << value << ", not " << static_cast<T>(b.exact(static_cast<long double>(at)));
}

/// gelu against x erfc(-x / sqrt 2) / 2: absolute near and above 0, relative in the negative tail.
TEST(Accuracy, Gelu) {
  std::vector<float> x;
  for (int k = -8000; k <= 8000; ++k) x.push_back(static_cast<float>(k) * 0.00125f);
  for (float v : {0.0f, -0.0f, 1e-30f, -1e30f, 1e30f, INFINITY}) x.push_back(v);
  std::vector<float> y(x.size());
  for (Isa level : {Isa::Scalar, Isa::AVX2, Isa::AVX512, Isa::Neon}) {
    set_isa(level);
    const void* in[] = {x.data()};
    find_elementwise("gelu", DType::F32)->loop(in, y.data(), static_cast<int64_t>(x.size()), nullptr);
    for (size_t i = 0; i < x.size(); ++i) {
      const double v = x[i], exact = 0.5 * v * std::erfc(-v / std::numbers::sqrt2);
      if (v == INFINITY)
        EXPECT_EQ(y[i], INFINITY);
      else
        EXPECT_LE(std::fabs(y[i] - exact),
                  std::min(3e-7, 2e-5 * std::fabs(exact)) + (v > 0 ? 1e-7 * v : 0) + (v < -5.6 ? 1e-7 : 0))
            << v;
    }
  }
  set_isa(isa_found());
}

/// Relative, well below half a unit of f16 (4.9e-4) and bf16, down to where the tail is cut off.
TEST(Accuracy, Gelu16Bit) {
  std::vector<float> x;
  for (int k = -5590; k <= 9000; ++k) x.push_back(static_cast<float>(k) * 0.001f);
  for (float v : {-0.0f, -1e30f, 1e30f, INFINITY, -11.0f}) x.push_back(v);
  std::vector<float> y(x.size());
  for (const char* functor : {"gelu_16bit", "gelu_tanh_16bit", "gelu_tanh"})
    for (Isa level : {Isa::Scalar, Isa::AVX2, Isa::AVX512, Isa::Neon}) {
      set_isa(level);
      const void* in[] = {x.data()};
      find_elementwise(functor, DType::F32)->loop(in, y.data(), static_cast<int64_t>(x.size()), nullptr);
      for (size_t i = 0; i < x.size(); ++i) {
        const long double v = x[i], u = std::sqrt(2 / std::numbers::pi_v<long double>) * (v + 0.044715L * v * v * v);
        const long double exact = functor[5] == '1' ? 0.5L * v * std::erfc(-v / std::numbers::sqrt2_v<long double>)
                                                    : v / (1 + std::exp(-2 * u));
        if (std::isinf(x[i]))
          EXPECT_EQ(y[i], INFINITY);
        else
          EXPECT_LE(std::fabs(y[i] - exact),
                    (functor[9] == 0 ? 6e-6L : 6e-5L) * std::fabs(exact) + (v < -5.6L ? 2e-8L : 1e-35L))
              << functor << " of " << x[i] << " on " << isa_name(level);
      }
    }
  set_isa(isa_found());
}

TEST(Accuracy, PowAndErfinv) {
  set_isa(isa_found());
  std::vector<float> x, y;
  for (int i = -60; i <= 60; ++i)
    for (int j = -60; j <= 60; ++j)
      x.push_back(static_cast<float>(i) * 0.37f), y.push_back(static_cast<float>(j) * 0.5f);
  const float special[] = {0.0f,  -0.0f,  1.0f,  -1.0f,  2.0f,     3.0f,      -3.0f, 0.5f,
                           -0.5f, 1e-40f, 1e38f, -1e38f, INFINITY, -INFINITY, NAN};
  for (float a : special)
    for (float b : special) x.push_back(a), y.push_back(b);
  std::vector<float> r(x.size());
  const void* in[] = {x.data(), y.data()};
  find_elementwise("_pow", DType::F32)->loop(in, r.data(), static_cast<int64_t>(x.size()), nullptr);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_LE(error_in_ulp(r[i], std::pow(static_cast<long double>(x[i]), static_cast<long double>(y[i]))), 1)
        << x[i] << "^" << y[i];
  x.clear();
  for (int k = -9999; k <= 9999; ++k) x.push_back(static_cast<float>(k) * 1e-4f);
  for (float v : {1.0f, -1.0f, 0.0f, 0.9999999f, 1e-20f}) x.push_back(v);
  r.resize(x.size());
  in[0] = x.data();
  find_elementwise("erfinv", DType::F32)->loop(in, r.data(), static_cast<int64_t>(x.size()), nullptr);
  std::vector<double> wide(x.begin(), x.end()), exact(x.size());
  in[0] = wide.data();
  find_elementwise("erfinv", DType::F64)->loop(in, exact.data(), static_cast<int64_t>(x.size()), nullptr);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(error_in_ulp(r[i], static_cast<long double>(exact[i])), 8) << x[i];
    if (!std::isfinite(exact[i])) continue;
    EXPECT_NEAR(std::erf(exact[i]), wide[i], 1e-15);
  }
}

TEST(Accuracy, ElementaryFunctions) {
  for (Isa level : {Isa::Scalar, Isa::AVX2, Isa::AVX512, Isa::Neon}) {
    set_isa(level);
    if (isa() != level) continue;
    for (const Bound& b : kBounds) {
      measure<float>(b, DType::F32, b.f32);
      measure<double>(b, DType::F64, b.f64);
    }
  }
  set_isa(isa_found());
}

}  // namespace
}  // namespace hw

// Mathematics of single floats and complex numbers, by the C library in double precision: the reference, and the fallback of packs.
// Included once per instruction set: everything lives in hw::HWY_NAMESPACE::math.
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "kernels/simd/arithmetic.h"

#if defined(HW_KERNELS_SIMD_SCALAR_MATH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_SIMD_SCALAR_MATH_H
#undef HW_KERNELS_SIMD_SCALAR_MATH_H
#else
#define HW_KERNELS_SIMD_SCALAR_MATH_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace math {
// clang-format off

template <Real T> T sqrt(T x) { return std::sqrt(x); }
template <Real T> T floor(T x) { return std::floor(x); }
template <Real T> T ceil(T x) { return std::ceil(x); }
template <Real T> T trunc(T x) { return std::trunc(x); }
template <Real T> T round(T x) { return std::nearbyint(x); }  // halves to even
template <Real T> T abs(T x) { return std::fabs(x); }
template <Real T> T copysign(T x, T sign) { return std::copysign(x, sign); }
template <Real T> bool signbit(T x) { return std::signbit(x); }
template <Real T> T fma(T a, T b, T c) { return std::fma(a, b, c); }

template <Real T> T exp(T x) { return static_cast<T>(std::exp(static_cast<double>(x))); }
template <Real T> T exp_normal(T x) { return exp(x); }
template <Real T> T exp2(T x) { return static_cast<T>(std::exp2(static_cast<double>(x))); }
template <Real T> T expm1(T x) { return static_cast<T>(std::expm1(static_cast<double>(x))); }
template <Real T> T log(T x) { return static_cast<T>(std::log(static_cast<double>(x))); }
template <Real T> T log2(T x) { return static_cast<T>(std::log2(static_cast<double>(x))); }
template <Real T> T log10(T x) { return static_cast<T>(std::log10(static_cast<double>(x))); }
template <Real T> T log1p(T x) { return static_cast<T>(std::log1p(static_cast<double>(x))); }
template <Real T> T sin(T x) { return static_cast<T>(std::sin(static_cast<double>(x))); }
template <Real T> T cos(T x) { return static_cast<T>(std::cos(static_cast<double>(x))); }
template <Real T> T tan(T x) { return static_cast<T>(std::tan(static_cast<double>(x))); }
template <Real T> T asin(T x) { return static_cast<T>(std::asin(static_cast<double>(x))); }
template <Real T> T acos(T x) { return static_cast<T>(std::acos(static_cast<double>(x))); }
template <Real T> T atan(T x) { return static_cast<T>(std::atan(static_cast<double>(x))); }
template <Real T> T sinh(T x) { return static_cast<T>(std::sinh(static_cast<double>(x))); }
template <Real T> T cosh(T x) { return static_cast<T>(std::cosh(static_cast<double>(x))); }
template <Real T> T tanh(T x) { return static_cast<T>(std::tanh(static_cast<double>(x))); }
template <Real T> T asinh(T x) { return static_cast<T>(std::asinh(static_cast<double>(x))); }
template <Real T> T acosh(T x) { return static_cast<T>(std::acosh(static_cast<double>(x))); }
template <Real T> T atanh(T x) { return static_cast<T>(std::atanh(static_cast<double>(x))); }
template <Real T> T erf(T x) { return static_cast<T>(std::erf(static_cast<double>(x))); }
template <Real T> T erfc(T x) { return static_cast<T>(std::erfc(static_cast<double>(x))); }
template <Real T> T normal_cdf(T x) { return static_cast<T>(0.5 * std::erfc(static_cast<double>(x) * (-1 / std::numbers::sqrt2))); }
template <Real T> T gelu(T x) { return x * normal_cdf(x); }
template <Real T> T atan2(T y, T x) { return static_cast<T>(std::atan2(static_cast<double>(y), static_cast<double>(x))); }
template <Real T> T hypot(T x, T y) { return static_cast<T>(std::hypot(static_cast<double>(x), static_cast<double>(y))); }
template <Real T> T pow(T x, T y) { return static_cast<T>(std::pow(static_cast<double>(x), static_cast<double>(y))); }
template <Real T> T fmod(T x, T y) { return std::fmod(x, y); }
template <Real T> T nextafter(T x, T y) { return std::nextafter(x, y); }
template <Real T> T sigmoid(T x) { return static_cast<T>(1 / (1 + std::exp(-static_cast<double>(x)))); }

// lgamma_r, because lgamma writes a global.
template <Real T> T lgamma(T x) { int sign; return static_cast<T>(::lgamma_r(static_cast<double>(x), &sign)); }

// clang-format on

/// Inverse of erf: Giles' approximation (GPU Computing Gems, 2011), then two steps of Newton on erf, or on erfc in the tails.
inline double erfinv_double(double x) {
  if (!(std::fabs(x) < 1)) return std::fabs(x) == 1 ? x * std::numeric_limits<double>::infinity() : std::nan("");
  if (x == 0) return x;
  const double a = std::fabs(x);
  double w = -std::log((1 - a) * (1 + a)), p;
  if (w < 5) {
    w -= 2.5;
    p = 2.81022636e-08;
    for (double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
                     0.246640727, 1.50140941})
      p = p * w + c;
  } else {
    w = std::sqrt(w) - 3;
    p = -0.000200214257;
    for (double c : {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
                     1.00167406, 2.83297682})
      p = p * w + c;
  }
  double y = p * a;
  for (int step = 0; step < 2; ++step) {
    const double error = a > 0.5 ? (1 - a) - std::erfc(y) : std::erf(y) - a;
    const double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-y * y);
    const double d = error / slope;
    y -= d / (1 + y * d);  // Halley
  }
  return std::copysign(y, x);
}
template <Real T>
T erfinv(T x) {
  return static_cast<T>(erfinv_double(static_cast<double>(x)));
}

/// Logarithmic derivative of gamma: reflection, recurrence up to 10, asymptotic series (Abramowitz and Stegun 6.3.18).
inline double digamma_double(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  double result = 0;
  if (x < 0) {
    const double fraction = x - std::nearbyint(x);
    if (fraction == 0) return std::nan("");
    result = -std::numbers::pi / std::tan(std::numbers::pi * fraction);
    x = 1 - x;
  }
  while (x < 10) {
    result -= 1 / x;
    x += 1;
  }
  if (std::isinf(x)) return result + x;
  const double z = 1 / (x * x);
  double series = 1.0 / 12;  // Bernoulli numbers B_2k / 2k, from k = 7 down
  for (double c : {-691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12}) series = c + z * series;
  return result + std::log(x) - 0.5 / x - z * series;
}
template <Real T>
T digamma(T x) {
  return static_cast<T>(digamma_double(static_cast<double>(x)));
}

/// Derivative of digamma: reflection, recurrence up to 10, asymptotic series (Abramowitz and Stegun 6.4.12).
inline double trigamma_double(double x) {
  double result = 0, sign = 1;
  if (x <= 0) {
    const double sine = std::sin(std::numbers::pi * (x - std::floor(x)));
    if (sine == 0) return std::numeric_limits<double>::infinity();
    result = std::numbers::pi * std::numbers::pi / (sine * sine);
    sign = -1;
    x = 1 - x;
  }
  double sum = 0;
  while (x < 10) {
    sum += 1 / (x * x);
    x += 1;
  }
  const double z = 1 / (x * x);
  double series = 7.0 / 6;  // Bernoulli numbers B_2k, from k = 7 down
  for (double c : {-691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6}) series = c + z * series;
  return result + sign * (sum + (1 + 0.5 / x + z * series) / x);
}
template <Real T>
T trigamma(T x) {
  return static_cast<T>(trigamma_double(static_cast<double>(x)));
}

template <Complex T>
using Wider = std::complex<double>;

// clang-format off
template <Complex T> T wide(std::complex<double> z) { using R = typename T::value_type; return T(static_cast<R>(z.real()), static_cast<R>(z.imag())); }
template <Complex T> typename T::value_type abs(T z) { return static_cast<typename T::value_type>(std::hypot(double(z.real()), double(z.imag()))); }
template <Complex T> T sqrt(T z) { return wide<T>(std::sqrt(Wider<T>(z))); }
template <Complex T> T exp(T z) { return wide<T>(std::exp(Wider<T>(z))); }
template <Complex T> T exp2(T z) { return wide<T>(std::exp(Wider<T>(z) * std::numbers::ln2)); }
template <Complex T> T log(T z) { return wide<T>(std::log(Wider<T>(z))); }
template <Complex T> T log2(T z) { return wide<T>(std::log(Wider<T>(z)) * std::numbers::log2e); }
template <Complex T> T log10(T z) { return wide<T>(std::log(Wider<T>(z)) * std::numbers::log10e); }
template <Complex T> T sin(T z) { return wide<T>(std::sin(Wider<T>(z))); }
template <Complex T> T cos(T z) { return wide<T>(std::cos(Wider<T>(z))); }
template <Complex T> T tan(T z) { return wide<T>(std::tan(Wider<T>(z))); }
template <Complex T> T asin(T z) { return wide<T>(std::asin(Wider<T>(z))); }
template <Complex T> T acos(T z) { return wide<T>(std::acos(Wider<T>(z))); }
template <Complex T> T atan(T z) { return wide<T>(std::atan(Wider<T>(z))); }
template <Complex T> T sinh(T z) { return wide<T>(std::sinh(Wider<T>(z))); }
template <Complex T> T cosh(T z) { return wide<T>(std::cosh(Wider<T>(z))); }
template <Complex T> T tanh(T z) { return wide<T>(std::tanh(Wider<T>(z))); }
template <Complex T> T asinh(T z) { return wide<T>(std::asinh(Wider<T>(z))); }
template <Complex T> T acosh(T z) { return wide<T>(std::acosh(Wider<T>(z))); }
template <Complex T> T atanh(T z) { return wide<T>(std::atanh(Wider<T>(z))); }
template <Complex T> T pow(T x, T y) { return wide<T>(x == T(0) && y == T(0) ? Wider<T>(1) : std::pow(Wider<T>(x), Wider<T>(y))); }
template <Complex T> T sigmoid(T z) { return wide<T>(div(Wider<T>(1), 1.0 + std::exp(-Wider<T>(z)))); }
// clang-format on

/// exp(z) - 1 without cancellation: Re = expm1(x) cos y - 2 sin^2(y / 2).
template <Complex T>
T expm1(T z) {
  const double x = z.real(), y = z.imag(), s = std::sin(y / 2);
  return wide<T>({std::expm1(x) * std::cos(y) - 2 * s * s, std::exp(x) * std::sin(y)});
}
/// log(1 + z) without cancellation near 0.
template <Complex T>
T log1p(T z) {
  const double x = z.real(), y = z.imag();
  return wide<T>({0.5 * std::log1p(x * (2 + x) + y * y), std::atan2(y, 1 + x)});
}

}  // namespace math
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif

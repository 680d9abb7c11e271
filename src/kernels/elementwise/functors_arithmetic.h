// Functors of arithmetic, rounding and simple activations: one expression per op. Included once per instruction set.
#include "kernels/elementwise/params.h"
#include "kernels/simd/math.h"

#if defined(HW_KERNELS_ELEMENTWISE_FUNCTORS_ARITHMETIC_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_ELEMENTWISE_FUNCTORS_ARITHMETIC_H
#undef HW_KERNELS_ELEMENTWISE_FUNCTORS_ARITHMETIC_H
#else
#define HW_KERNELS_ELEMENTWISE_FUNCTORS_ARITHMETIC_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace functors {

/// The factor of add, sub and addcmul; negative factors of unsigned integers wrap around like their products.
template <class T>
HWY_INLINE T factor(const Params& p) {
  if constexpr (Integer<T>)
    return p.given(0) ? static_cast<T>(p.values[0].i) : T(1);
  else
    return p.get_or(0, T(1));
}

// clang-format off

// Arithmetic.
struct add : Binary<"add", kAll> { template <class P> static P alternating(P a, P b) { return a + b; } template <class T> T operator()(T a, T b) const { return math::add(a, b); } };
struct sub : Binary<"sub", kAll> { template <class P> static P alternating(P a, P b) { return a - b; } template <class T> T operator()(T a, T b) const { return math::sub(a, b); } };
struct mul : Binary<"mul", kAll> { template <class P> static P alternating(P a, P b) { return math::mul_alternating(a, b); } template <class T> T operator()(T a, T b) const { return math::mul(a, b); } };
struct div : Binary<"div", kInexact> { template <class T> T operator()(T a, T b) const { return math::div(a, b); } };
struct add_scaled : Binary<"add_scaled", kNumbers> { template <class T> T operator()(const Params& p, T a, T b) const { return math::add(a, math::mul(factor<T>(p), b)); } };
struct sub_scaled : Binary<"sub_scaled", kNumbers> { template <class T> T operator()(const Params& p, T a, T b) const { return math::sub(a, math::mul(factor<T>(p), b)); } };
struct neg : Unary<"neg", kNumbers> { template <class T> T operator()(T x) const { return math::neg(x); } };
struct square : Unary<"square", kNumbers> { template <class T> T operator()(T x) const { return math::mul(x, x); } };
struct reciprocal : Unary<"reciprocal", kInexact> { template <class T> T operator()(T x) const { return math::div(T(1), x); } };
struct sqrt : Unary<"sqrt", kInexact> { template <class T> T operator()(T x) const { return math::sqrt(x); } };
struct rsqrt : Unary<"rsqrt", kInexact> { template <class T> T operator()(T x) const { return math::div(T(1), math::sqrt(x)); } };
struct abs : Unary<"abs", kNumbers, 1, Out::Real> { template <class T> auto operator()(T x) const { if constexpr (Integer<T>) return x < 0 ? math::neg(x) : x; else return math::abs(x); } };
struct sign : Unary<"sign", kReals | kBool> { template <class T> T operator()(T x) const { return math::sign(x); } };
struct sgn : Unary<"sgn", kNumbers | kBool> { template <class T> T operator()(T x) const { if constexpr (Complex<T>) return x == T(0) ? T(0) : T(x / math::abs(x)); else return math::sign(x); } };
struct real : Unary<"real", kAll, 1, Out::Real> { template <class T> auto operator()(T x) const { if constexpr (Complex<T>) return x.real(); else return x; } };
struct imag : Unary<"imag", kComplexes, 1, Out::Real> { template <class T> auto operator()(T x) const { return x.imag(); } };
struct conj : Unary<"conj", kAll> { template <class T> T operator()(T x) const { if constexpr (Complex<T>) return std::conj(x); else return x; } };
struct angle : Unary<"angle", kInexact, 4, Out::Real> { template <class T> auto operator()(T x) const { if constexpr (Complex<T>) return math::atan2(x.imag(), x.real()); else return select(x != x, x, select(x < T(0), T(std::numbers::pi), T(0))); } };

// Rounding; integers are whole already.
struct ceil : Unary<"ceil", kReals> { template <class T> T operator()(T x) const { if constexpr (Integer<T>) return x; else return math::ceil(x); } };
struct floor : Unary<"floor", kReals> { template <class T> T operator()(T x) const { if constexpr (Integer<T>) return x; else return math::floor(x); } };
struct trunc : Unary<"trunc", kReals> { template <class T> T operator()(T x) const { if constexpr (Integer<T>) return x; else return math::trunc(x); } };
struct frac : Unary<"frac", kFloats> { template <class T> T operator()(T x) const { return x - math::trunc(x); } };
struct round : Unary<"round", kReals> {  // round(x, decimals=0), halves to even
  template <class T> T operator()(const Params& p, T x) const {
    if constexpr (Integer<T>) {
      return x;
    } else {
      if (p.values[0].i == 0) return math::round(x);
      const T by(std::pow(10.0, std::fabs(p.values[0].f)));
      return p.values[0].i > 0 ? math::round(x * by) / by : math::round(x / by) * by;
    }
  }
};

// Limits. A NaN stays a NaN.
struct clamp_min : Binary<"_clamp_min", kReals> { template <class T> T operator()(T x, T low) const { return math::maximum(x, low); } };
struct clamp_max : Binary<"_clamp_max", kReals> { template <class T> T operator()(T x, T high) const { return math::minimum(x, high); } };
struct clamp_tensor : Ternary<"clamp_tensor", kReals> { template <class T> T operator()(T x, T low, T high) const { return math::minimum(math::maximum(x, low), high); } };
struct threshold : Unary<"threshold", kReals> { template <class T> T operator()(const Params& p, T x) const { return select(x <= p.get<T>(0), p.get<T>(1), x); } };
struct hardtanh : Unary<"hardtanh", kReals> { template <class T> T operator()(const Params& p, T x) const { return math::at_most(math::at_least(x, p.get<T>(0)), p.get<T>(1)); } };
struct relu : Unary<"relu", kReals> { template <class T> T operator()(T x) const { return math::at_least(x, T(0)); } };
struct relu6 : Unary<"relu6", kReals> { template <class T> T operator()(T x) const { return math::at_most(math::at_least(x, T(0)), T(6)); } };
struct nan_to_num : Unary<"_nan_to_num", kReals> {  // nan_to_num(x, nan=0, posinf=None, neginf=None)
  template <class T> T operator()(const Params& p, T x) const {
    if constexpr (Integer<T>) {
      return x;
    } else {
      const T inf(HUGE_VAL), most(std::numeric_limits<math::ValueOf<T>>::max());
      const T r = select(x == inf, p.get_or(1, most), select(x == -inf, p.get_or(2, -most), x));
      return select(x != x, p.get<T>(0), r);
    }
  }
};

// Activations without transcendental functions.
struct leaky_relu : Unary<"leaky_relu", kFloats> { template <class T> T operator()(const Params& p, T x) const { return select(x > T(0), x, x * p.get<T>(0)); } };
struct hardsigmoid : Unary<"hardsigmoid", kFloats> { template <class T> T operator()(T x) const { return math::at_most(math::at_least(x + T(3), T(0)), T(6)) / T(6); } };
struct hardswish : Unary<"hardswish", kFloats> { template <class T> T operator()(T x) const { return x * math::at_most(math::at_least(x + T(3), T(0)), T(6)) / T(6); } };
struct softsign : Unary<"softsign", kFloats> { template <class T> T operator()(T x) const { return x / (T(1) + math::abs(x)); } };
struct softshrink : Unary<"softshrink", kFloats> { template <class T> T operator()(const Params& p, T x) const { const T l = p.get<T>(0); return select(x > l, x - l, select(x < -l, x + l, select(x == x, T(0), x))); } };
struct hardshrink : Unary<"hardshrink", kFloats> { template <class T> T operator()(const Params& p, T x) const { const T l = p.get<T>(0); return select((x >= -l) & (x <= l), T(0), x); } };
struct deg2rad : Unary<"deg2rad", kFloats> { template <class T> T operator()(T x) const { return x * T(std::numbers::pi / 180); } };
struct rad2deg : Unary<"rad2deg", kFloats> { template <class T> T operator()(T x) const { return x * T(180 / std::numbers::pi); } };

// Order. maximum and minimum give NaN if either is one; fmax and fmin the other.
struct maximum : Binary<"maximum", kReals | kBool> { template <class T> T operator()(T a, T b) const { return math::maximum(a, b); } };
struct minimum : Binary<"minimum", kReals | kBool> { template <class T> T operator()(T a, T b) const { return math::minimum(a, b); } };
struct fmax : Binary<"fmax", kReals | kBool> { template <class T> T operator()(T a, T b) const { return select((a >= b) | (b != b), a, b); } };
struct fmin : Binary<"fmin", kReals | kBool> { template <class T> T operator()(T a, T b) const { return select((a <= b) | (b != b), a, b); } };
struct copysign : Binary<"copysign", kFloats> { template <class T> T operator()(T a, T b) const { return math::copysign(a, b); } };
struct heaviside : Binary<"heaviside", kReals | kBool> { template <class T> T operator()(T x, T at_zero) const { return select(x == T(0), at_zero, select(x > T(0), T(1), T(0))); } };

// Three inputs.
struct where : Ternary<"where", kAll> { template <class T> T operator()(T condition, T a, T b) const { return select(condition != T(0), a, b); } };
struct lerp : Ternary<"lerp", kInexact> {  // from the nearer end, as torch does
  template <class T> T operator()(T a, T b, T w) const {
    if constexpr (Complex<T>) {
      return math::abs(w) < 0.5 ? a + math::mul(w, b - a) : b - math::mul(b - a, T(1) - w);
    } else {
      const T d = b - a;
      return select(math::abs(w) < T(0.5), a + w * d, b - d * (T(1) - w));
    }
  }
};
struct addcmul : Ternary<"addcmul", kNumbers> { template <class T> T operator()(const Params& p, T x, T a, T b) const { return math::add(x, math::mul(factor<T>(p), math::mul(a, b))); } };
struct addcdiv : Ternary<"addcdiv", kInexact> { template <class T> T operator()(const Params& p, T x, T a, T b) const { return math::add(x, math::mul(p.get_or(0, T(1)), math::div(a, b))); } };

using Arithmetic = Family<add, sub, mul, div, add_scaled, sub_scaled, neg, square, reciprocal, sqrt, rsqrt, abs, sign, sgn, real, imag, conj, angle>;
using Rounding = Family<ceil, floor, trunc, frac, round, clamp_min, clamp_max, clamp_tensor, threshold, hardtanh, relu, relu6, nan_to_num>;
using Simple = Family<leaky_relu, hardsigmoid, hardswish, softsign, softshrink, hardshrink, deg2rad, rad2deg, maximum, minimum, fmax, fmin, copysign, heaviside, where, lerp, addcmul, addcdiv>;

// clang-format on
}  // namespace functors
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif

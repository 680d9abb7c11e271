// Functors of elementary and special functions and the activations made of them. Included once per instruction set.
#include "core/half.h"
#include "kernels/elementwise/params.h"
#include "kernels/simd/gelu.h"

#if defined(HW_KERNELS_ELEMENTWISE_FUNCTORS_FLOAT_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_ELEMENTWISE_FUNCTORS_FLOAT_H
#undef HW_KERNELS_ELEMENTWISE_FUNCTORS_FLOAT_H
#else
#define HW_KERNELS_ELEMENTWISE_FUNCTORS_FLOAT_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace functors {
// clang-format off

// Exponentials and logarithms.
struct exp : Unary<"exp", kInexact, 4> { template <class T> T operator()(T x) const { return math::exp(x); } };
struct exp2 : Unary<"exp2", kInexact, 4> { template <class T> T operator()(T x) const { return math::exp2(x); } };
struct expm1 : Unary<"expm1", kInexact, 4> { template <class T> T operator()(T x) const { return math::expm1(x); } };
struct log : Unary<"log", kInexact, 4> { template <class T> T operator()(T x) const { return math::log(x); } };
struct log2 : Unary<"log2", kInexact, 4> { template <class T> T operator()(T x) const { return math::log2(x); } };
struct log10 : Unary<"log10", kInexact, 4> { template <class T> T operator()(T x) const { return math::log10(x); } };
struct log1p : Unary<"log1p", kInexact, 4> { template <class T> T operator()(T x) const { return math::log1p(x); } };
struct logit : Unary<"logit", kFloats, 4> {  // logit(x, eps=None)
  template <class T> T operator()(const Params& p, T x) const {
    if (p.given(0)) x = select(x < p.get<T>(0), p.get<T>(0), select(x > T(1) - p.get<T>(0), T(1) - p.get<T>(0), x));
    return math::log(x / (T(1) - x));
  }
};

// Trigonometric and hyperbolic functions.
struct sin : Unary<"sin", kInexact, 4> { template <class T> T operator()(T x) const { return math::sin(x); } };
struct cos : Unary<"cos", kInexact, 4> { template <class T> T operator()(T x) const { return math::cos(x); } };
struct tan : Unary<"tan", kInexact, 4> { template <class T> T operator()(T x) const { return math::tan(x); } };
struct asin : Unary<"asin", kInexact, 4> { template <class T> T operator()(T x) const { return math::asin(x); } };
struct acos : Unary<"acos", kInexact, 4> { template <class T> T operator()(T x) const { return math::acos(x); } };
struct atan : Unary<"atan", kInexact, 4> { template <class T> T operator()(T x) const { return math::atan(x); } };
struct sinh : Unary<"sinh", kInexact, 4> { template <class T> T operator()(T x) const { return math::sinh(x); } };
struct cosh : Unary<"cosh", kInexact, 4> { template <class T> T operator()(T x) const { return math::cosh(x); } };
struct tanh : Unary<"tanh", kInexact, 4> { template <class T> T operator()(T x) const { return math::tanh(x); } };
struct asinh : Unary<"asinh", kInexact, 4> { template <class T> T operator()(T x) const { return math::asinh(x); } };
struct acosh : Unary<"acosh", kInexact, 4> { template <class T> T operator()(T x) const { return math::acosh(x); } };
struct atanh : Unary<"atanh", kInexact, 4> { template <class T> T operator()(T x) const { return math::atanh(x); } };
struct atan2 : Binary<"atan2", kFloats, 4> { template <class T> T operator()(T y, T x) const { return math::atan2(y, x); } };
struct hypot : Binary<"hypot", kFloats, 4> { template <class T> T operator()(T x, T y) const { return math::hypot(x, y); } };
struct sinc : Unary<"sinc", kFloats, 4> { template <class T> T operator()(T x) const { const T t = x * T(std::numbers::pi); return select(x == T(0), T(1), math::sin(t) / t); } };

// Special functions.
struct erf : Unary<"erf", kFloats, 4> { template <class T> T operator()(T x) const { return math::erf(x); } };
struct erfc : Unary<"erfc", kFloats, 8> { template <class T> T operator()(T x) const { return math::erfc(x); } };
struct erfinv : Unary<"erfinv", kFloats, 16> { template <class T> T operator()(T x) const { return math::erfinv(x); } };
struct lgamma : Unary<"lgamma", kFloats, 16> { template <class T> T operator()(T x) const { return math::lgamma(x); } };
struct digamma : Unary<"digamma", kFloats, 16> { template <class T> T operator()(T x) const { return math::digamma(x); } };
struct trigamma : Unary<"trigamma", kFloats, 16> { template <class T> T operator()(T x) const { return math::trigamma(x); } };
struct nextafter : Binary<"nextafter", kFloats, 4> { template <class T> T operator()(T x, T y) const { return math::nextafter(x, y); } };
template <class H> struct NextHalf {  // in the precision of 16-bit floats
  static constexpr bool kScalarOnly = true;
  float operator()(float x, float y) const {
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    H h(x);
    if (x == 0) { h.bits = 1; return std::copysign(float(h), y); }
    h.bits = static_cast<uint16_t>(h.bits + ((y > x) == (x > 0) ? 1 : -1));
    return h;
  }
};
struct nextafter_f16 : Binary<"nextafter_f16", dtype_bit(DType::F32), 4>, NextHalf<Half> {};
struct nextafter_bf16 : Binary<"nextafter_bf16", dtype_bit(DType::F32), 4>, NextHalf<BFloat16> {};
struct xlogy : Binary<"xlogy", kFloats, 4> { template <class T> T operator()(T x, T y) const { return select(y != y, y, select(x == T(0), T(0), x * math::log(y))); } };
struct _binary_cross_entropy : Binary<"_binary_cross_entropy", kFloats, 8> { template <class T> T operator()(T x, T t) const { return (t - T(1)) * math::maximum(math::log1p(-x), T(-100)) - t * math::maximum(math::log(x), T(-100)); } };
struct logaddexp : Binary<"logaddexp", kFloats, 8> { template <class T> T operator()(T a, T b) const { return select(a == b, a + T(std::numbers::ln2), math::maximum(a, b) + math::log1p(math::exp(-math::abs(a - b)))); } };
struct logaddexp2 : Binary<"logaddexp2", kFloats, 8> { template <class T> T operator()(T a, T b) const { return select(a == b, a + T(1), math::maximum(a, b) + math::log1p(math::exp2(-math::abs(a - b))) * T(std::numbers::log2e)); } };

// Activations.
struct sigmoid : Unary<"sigmoid", kInexact, 4> { template <class T> T operator()(T x) const { return math::sigmoid(x); } };
struct logsigmoid : Unary<"logsigmoid", kFloats, 8> { template <class T> T operator()(T x) const { return math::at_most(x, T(0)) - math::log1p(math::exp(-math::abs(x))); } };
struct silu : Unary<"silu", kFloats, 4> { template <class T> T operator()(T x) const { return x / (T(1) + math::exp(-x)); } };
struct gelu : Unary<"gelu", kFloats, 4> { template <class T> T operator()(T x) const { return math::gelu(x); } };
struct gelu_tanh : Unary<"gelu_tanh", kFloats, 4> { template <class T> T operator()(T x) const { return math::at_least(x, T(-math::kGeluLimit)) / (T(1) + math::gelu_odds(math::gelu_limited(x))); } };
struct gelu_16bit : Unary<"gelu_16bit", dtype_bit(DType::F32), 4> { template <class T> T operator()(T x) const { return math::gelu_16bit(x); } };
struct gelu_tanh_16bit : Unary<"gelu_tanh_16bit", dtype_bit(DType::F32), 4> { template <class T> T operator()(T x) const { return math::gelu_tanh_16bit(x); } };
struct softplus : Unary<"softplus", kFloats, 8> { template <class T> T operator()(const Params& p, T x) const { const T t = x * p.get<T>(0); return select(t > p.get<T>(1), x, math::log1p(math::exp(t)) / p.get<T>(0)); } };
struct elu : Unary<"elu", kFloats, 4> { template <class T> T operator()(const Params& p, T x) const { return select(x >= T(0), x, p.get<T>(0) * math::expm1(x)); } };
struct selu : Unary<"selu", kFloats, 4> { template <class T> T operator()(T x) const { return T(1.0507009873554804934193349852946) * select(x > T(0), x, T(1.6732632423543772848170429916717) * math::expm1(x)); } };
struct celu : Unary<"celu", kFloats, 4> { template <class T> T operator()(const Params& p, T x) const { return select(x > T(0), x, p.get<T>(0) * math::expm1(x / p.get<T>(0))); } };
struct mish : Unary<"mish", kFloats, 4> { template <class T> T operator()(T x) const { return x * math::mish_gate(x); } };
struct tanhshrink : Unary<"tanhshrink", kFloats, 4> { template <class T> T operator()(T x) const { return x - math::tanh(x); } };

using Exponential = Family<exp, exp2, expm1, log, log2, log10, log1p, logit, sigmoid, tanh>;
using Hyperbolic = Family<sinh, cosh, asinh, acosh, atanh>;
using Trigonometric = Family<sin, cos, tan, asin, acos, atan, atan2, hypot, sinc>;
using Special = Family<erf, erfc, erfinv, lgamma, digamma, trigamma, nextafter, nextafter_f16, nextafter_bf16, xlogy, _binary_cross_entropy, logaddexp, logaddexp2>;
using Activation = Family<logsigmoid, silu, gelu, gelu_tanh, gelu_16bit, gelu_tanh_16bit, softplus, elu, selu, celu, mish, tanhshrink>;

// clang-format on
}  // namespace functors
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif

// Functors of gradients worth a fused loop: f(dy, saved), where saved is the result y or the input x. Included once per instruction set.
#include "kernels/elementwise/params.h"
#include "kernels/simd/gelu.h"

#if defined(HW_KERNELS_ELEMENTWISE_FUNCTORS_GRAD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_ELEMENTWISE_FUNCTORS_GRAD_H
#undef HW_KERNELS_ELEMENTWISE_FUNCTORS_GRAD_H
#else
#define HW_KERNELS_ELEMENTWISE_FUNCTORS_GRAD_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace functors {
// clang-format off

struct relu_grad : Binary<"relu_grad", kFloats> { template <class T> T operator()(T dy, T y) const { return select(y <= T(0), T(0), dy); } };
struct leaky_relu_grad : Binary<"leaky_relu_grad", kFloats> { template <class T> T operator()(const Params& p, T dy, T x) const { return select(x > T(0), dy, dy * p.get<T>(0)); } };
struct hardtanh_grad : Binary<"hardtanh_grad", kFloats> { template <class T> T operator()(const Params& p, T dy, T x) const { return select((x <= p.get<T>(0)) | (x >= p.get<T>(1)), T(0), dy); } };
struct hardsigmoid_grad : Binary<"hardsigmoid_grad", kFloats> { template <class T> T operator()(T dy, T x) const { return select((x > T(-3)) & (x < T(3)), dy / T(6), T(0)); } };
struct hardswish_grad : Binary<"hardswish_grad", kFloats> { template <class T> T operator()(T dy, T x) const { return select(x <= T(-3), T(0), select(x < T(3), dy * (x / T(3) + T(0.5)), dy)); } };
struct sigmoid_grad : Binary<"sigmoid_grad", kFloats> { template <class T> T operator()(T dy, T y) const { return dy * y * (T(1) - y); } };
struct tanh_grad : Binary<"tanh_grad", kFloats> { template <class T> T operator()(T dy, T y) const { return dy * (T(1) - y * y); } };
struct elu_grad : Binary<"elu_grad", kFloats, 4> { template <class T> T operator()(const Params& p, T dy, T x) const { return select(x > T(0), dy, dy * p.get<T>(0) * math::exp(x)); } };
struct silu_grad : Binary<"silu_grad", kFloats, 4> { template <class T> T operator()(T dy, T x) const { const T s = math::sigmoid(x); return dy * s * (T(1) + x * (T(1) - s)); } };
struct softplus_grad : Binary<"softplus_grad", kFloats, 4> { template <class T> T operator()(const Params& p, T dy, T x) const { const T t = x * p.get<T>(0); return select(t > p.get<T>(1), dy, dy * math::sigmoid(t)); } };
struct mish_grad : Binary<"mish_grad", kFloats, 8> { template <class T> T operator()(T dy, T x) const { const T g = math::mish_gate(x); return dy * (g + x * math::sigmoid(x) * (T(1) - g * g)); } };
struct gelu_grad : Binary<"gelu_grad", kFloats, 8> {  // Phi(x) + x phi(x)
  template <class T> T operator()(T dy, T x) const {
    return dy * (math::normal_cdf(x) + x * math::normal_pdf(x));
  }
};
struct gelu_tanh_grad : Binary<"gelu_tanh_grad", kFloats, 8> {
  template <class T> T operator()(T dy, T x) const {
    const T c = math::gelu_limited(x), gate = T(1) / (T(1) + math::gelu_odds(c));
    const T inner = T(2 * math::kGeluScale) * (T(1) + T(3 * math::kGeluCubic) * c * c);
    return dy * (gate + c * gate * (T(1) - gate) * inner);
  }
};

using Gradients = Family<relu_grad, leaky_relu_grad, hardtanh_grad, hardsigmoid_grad, hardswish_grad, sigmoid_grad, tanh_grad, elu_grad, silu_grad, softplus_grad, mish_grad, gelu_grad, gelu_tanh_grad>;

// clang-format on
}  // namespace functors
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif

// Functors of arithmetic: one expression per op, for every dtype it is defined for. Included once per instruction set.
#include "kernels/elementwise/params.h"

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
// clang-format off

struct add : Binary<"add", kAll> { template <class T> T operator()(T a, T b) const { return math::add(a, b); } };
struct sub : Binary<"sub", kAll> { template <class T> T operator()(T a, T b) const { return math::sub(a, b); } };
struct mul : Binary<"mul", kAll> { template <class T> T operator()(T a, T b) const { return math::mul(a, b); } };
struct div : Binary<"div", kInexact> { template <class T> T operator()(T a, T b) const { return math::div(a, b); } };
struct add_scaled : Binary<"add_scaled", kNumbers> { template <class T> T operator()(const Params& p, T a, T b) const { return math::add(a, math::mul(p.get<T>(0), b)); } };
struct sub_scaled : Binary<"sub_scaled", kNumbers> { template <class T> T operator()(const Params& p, T a, T b) const { return math::sub(a, math::mul(p.get<T>(0), b)); } };

using Arithmetic = Family<add, sub, mul, div, add_scaled, sub_scaled>;

// clang-format on
}  // namespace functors
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif

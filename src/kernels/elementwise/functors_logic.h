// Functors of comparison, logic, bits, whole-number division and powers. Included once per instruction set.
#include "kernels/elementwise/params.h"
#include "kernels/simd/math.h"

#if defined(HW_KERNELS_ELEMENTWISE_FUNCTORS_LOGIC_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_ELEMENTWISE_FUNCTORS_LOGIC_H
#undef HW_KERNELS_ELEMENTWISE_FUNCTORS_LOGIC_H
#else
#define HW_KERNELS_ELEMENTWISE_FUNCTORS_LOGIC_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace functors {
// clang-format off

// Comparisons.
struct eq : Compare<"eq", kAll> { template <class T> bool operator()(T a, T b) const { return a == b; } };
struct ne : Compare<"ne", kAll> { template <class T> bool operator()(T a, T b) const { return a != b; } };
struct lt : Compare<"lt", kReals | kBool> { template <class T> bool operator()(T a, T b) const { return a < b; } };
struct le : Compare<"le", kReals | kBool> { template <class T> bool operator()(T a, T b) const { return a <= b; } };
struct gt : Compare<"gt", kReals | kBool> { template <class T> bool operator()(T a, T b) const { return a > b; } };
struct ge : Compare<"ge", kReals | kBool> { template <class T> bool operator()(T a, T b) const { return a >= b; } };

// Logic. The bitwise forms avoid branches.
struct logical_and : Compare<"logical_and", kAll> { template <class T> bool operator()(T a, T b) const { return (a != T(0)) & (b != T(0)); } };
struct logical_or : Compare<"logical_or", kAll> { template <class T> bool operator()(T a, T b) const { return (a != T(0)) | (b != T(0)); } };
struct logical_xor : Compare<"logical_xor", kAll> { template <class T> bool operator()(T a, T b) const { return (a != T(0)) != (b != T(0)); } };
struct logical_not : Test<"logical_not", kAll> { template <class T> bool operator()(T x) const { return x == T(0); } };

// Tests of a value.
struct isnan : Test<"isnan", kAll> { template <class T> bool operator()(T x) const { return x != x; } };
struct isinf : Test<"isinf", kAll> { template <class T> bool operator()(T x) const { return math::is_infinite(x); } };
struct isfinite : Test<"isfinite", kAll> { template <class T> bool operator()(T x) const { return (x == x) & !math::is_infinite(x); } };
struct isposinf : Test<"isposinf", kReals | kBool> { template <class T> bool operator()(T x) const { return math::is_infinite(x) & (x > T(0)); } };
struct isneginf : Test<"isneginf", kReals | kBool> { template <class T> bool operator()(T x) const { return math::is_infinite(x) & (x < T(0)); } };
struct signbit : Test<"signbit", kReals | kBool> { template <class T> bool operator()(T x) const { if constexpr (Integer<T>) return x < T(0); else return math::signbit(x); } };

// Bits. Shifts by less than 0 or by the width or more shift everything out.
struct bitwise_and : Binary<"bitwise_and", kIntegers | kBool> { template <class T> T operator()(T a, T b) const { return static_cast<T>(a & b); } };
struct bitwise_or : Binary<"bitwise_or", kIntegers | kBool> { template <class T> T operator()(T a, T b) const { return static_cast<T>(a | b); } };
struct bitwise_xor : Binary<"bitwise_xor", kIntegers | kBool> { template <class T> T operator()(T a, T b) const { return static_cast<T>(a ^ b); } };
struct bitwise_not : Unary<"bitwise_not", kIntegers | kBool> { template <class T> T operator()(T x) const { if constexpr (std::is_same_v<T, bool>) return !x; else return static_cast<T>(~x); } };
struct bitwise_left_shift : Binary<"bitwise_left_shift", kIntegers> { template <class T> T operator()(T a, T b) const { return math::shift_left(a, b); } };
struct bitwise_right_shift : Binary<"bitwise_right_shift", kIntegers> { template <class T> T operator()(T a, T b) const { return math::shift_right(a, b); } };

// Whole-number division. The driver reports integer divisors of 0.
struct floor_divide : Binary<"floor_divide", kReals, 2> { template <class T> T operator()(T a, T b) const { return math::floor_divide(a, b); } };
struct div_trunc : Binary<"div_trunc", kReals, 2> { template <class T> T operator()(T a, T b) const { if constexpr (Integer<T>) return math::quotient(a, b); else return math::trunc(a / b); } };
struct remainder : Binary<"remainder", kReals, 2> { template <class T> T operator()(T a, T b) const { return math::remainder(a, b); } };
struct fmod : Binary<"fmod", kReals, 2> { template <class T> T operator()(T a, T b) const { if constexpr (Integer<T>) return math::modulo(a, b); else return math::fmod(a, b); } };
struct gcd : Binary<"gcd", kIntegers, 8> { template <class T> T operator()(T a, T b) const { return math::gcd(a, b); } };
struct lcm : Binary<"lcm", kIntegers, 8> { template <class T> T operator()(T a, T b) const { return math::lcm(a, b); } };
struct pow : Binary<"_pow", kNumbers, 4> { template <class T> T operator()(T a, T b) const { if constexpr (Integer<T>) return math::integer_power(a, b); else return math::pow(a, b); } };

using Comparison = Family<eq, ne, lt, le, gt, ge>;
using Logic = Family<logical_and, logical_or, logical_xor, logical_not, isnan, isinf, isfinite, isposinf, isneginf, signbit>;
using Bits = Family<bitwise_and, bitwise_or, bitwise_xor, bitwise_not, bitwise_left_shift, bitwise_right_shift, gcd, lcm>;
using Division = Family<floor_divide, div_trunc, remainder, fmod, pow>;

// clang-format on
}  // namespace functors
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif

// What a functor says of itself: name, number of inputs, compute dtypes, output, cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/visit.h"
#include "kernels/elementwise/loops.h"

namespace hw {

/// An op's name as a template argument.
template <size_t N>
struct OpName {
  char text[N];
  consteval OpName(const char (&t)[N]) { std::copy_n(t, N, text); }
};

constexpr uint32_t dtype_bit(DType d) { return 1u << static_cast<uint32_t>(d); }
constexpr uint32_t kFloats = dtype_bit(DType::F32) | dtype_bit(DType::F64);
constexpr uint32_t kComplexes = dtype_bit(DType::C64) | dtype_bit(DType::C128);
constexpr uint32_t kIntegers =
    dtype_bit(DType::U8) | dtype_bit(DType::I8) | dtype_bit(DType::I16) | dtype_bit(DType::I32) | dtype_bit(DType::I64);
constexpr uint32_t kBool = dtype_bit(DType::Bool);
constexpr uint32_t kReals = kFloats | kIntegers;
constexpr uint32_t kInexact = kFloats | kComplexes;
constexpr uint32_t kNumbers = kReals | kComplexes;
constexpr uint32_t kAll = kNumbers | kBool;

/// The output's dtype: that of the inputs, bool, or the real type of a complex input.
enum class Out : uint8_t { Same, Bool, Real };

/// Base of a functor with N inputs. Cost: 1 for work bound by memory, about 4 for a transcendental function.
template <OpName Name, int N, uint32_t Dtypes, int Cost = 1, Out Output = Out::Same>
struct Functor {
  static constexpr std::string_view kName{Name.text, sizeof(Name.text) - 1};
  static constexpr int kArity = N;
  static constexpr uint32_t kDtypes = Dtypes;
  static constexpr int kCost = Cost;
  static constexpr Out kOut = Output;
};
template <OpName Name, uint32_t Dtypes, int Cost = 1, Out Output = Out::Same>
using Unary = Functor<Name, 1, Dtypes, Cost, Output>;
template <OpName Name, uint32_t Dtypes, int Cost = 1, Out Output = Out::Same>
using Binary = Functor<Name, 2, Dtypes, Cost, Output>;
template <OpName Name, uint32_t Dtypes, int Cost = 1, Out Output = Out::Same>
using Ternary = Functor<Name, 3, Dtypes, Cost, Output>;
template <OpName Name, uint32_t Dtypes, int Cost = 1>
using Test = Functor<Name, 1, Dtypes, Cost, Out::Bool>;
template <OpName Name, uint32_t Dtypes, int Cost = 1>
using Compare = Functor<Name, 2, Dtypes, Cost, Out::Bool>;

/// The functors of one family.
template <class... F>
struct Family {};

}  // namespace hw

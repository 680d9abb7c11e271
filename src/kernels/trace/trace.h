// What a functor computes, written down: its vector operations in order, from which code can be generated that gives the same bits.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/elementwise/loops.h"

namespace hw {

enum class TraceKind : uint8_t {
  Input,  // number `bits` of the functor
  Const,  // `bits`
  Add,    // a + b, and so on, each rounded once
  Sub,
  Mul,
  Div,
  Fma,  // a * b + c, rounded once
  Neg,
  Abs,
  Sqrt,
  Floor,
  Ceil,
  Trunc,
  Round,     // halves to even
  CopySign,  // size of a, sign of b
  Max,       // a > b ? a : b, so b if either is NaN
  Min,       // a < b ? a : b
  Less,      // a mask; false for NaN
  LessEqual,
  Equal,
  And,  // of masks or of bits
  Or,
  Not,     // of a mask
  Select,  // a ? b : c
  AsBits,  // a float as an unsigned number of its width
  AsFloat,
  ShiftLeft,   // by `bits`
  ShiftRight,  // logical
  SignMask     // whether the sign bit is set
};

struct TraceOp {
  enum class Type : uint8_t { F32, F64, U32, U64, Mask };
  TraceKind kind;
  Type type;  // of the result
  int32_t a = -1, b = -1, c = -1;
  uint64_t bits = 0;
};

struct Trace {
  std::vector<TraceOp> ops;
  int32_t result = -1;  // a mask for comparisons and tests
};

/// The operations of a functor in f32 or f64, by its packs' expression. False where it is no straight line of these: branches on data,
/// loops over lanes.
bool trace_functor(std::string_view functor, DType compute, const LoopParams& params, Trace& trace);

}  // namespace hw

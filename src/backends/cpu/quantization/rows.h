// Loops of quantisation over a run of elements with one scale, for the instruction set in use.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace hw {

/// One scale, and the integers less their zero point: [low, high] = [quant_min - zero, quant_max - zero]. All of them below 2^23
/// in size, so that f32 holds them exactly.
struct Steps {
  float scale = 1, zero = 0, low = 0, high = 0;
};
using StepsRow = void (*)(const void* x, void* y, int64_t n, const Steps& steps);

struct QuantizeRows {
  StepsRow to_u8 = nullptr, to_i8 = nullptr;      // f32 to integers
  StepsRow from_u8 = nullptr, from_i8 = nullptr;  // integers to f32
  StepsRow from_i32 = nullptr;
  StepsRow fake = nullptr;  // f32 to f32
};
QuantizeRows find_quantize_rows();

}  // namespace hw

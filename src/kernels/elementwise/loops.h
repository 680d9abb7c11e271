// Contiguous inner loops of the elementwise functors, by op and compute dtype.
// The driver (driver.cpp) brings every layout and dtype to this one form through small staging buffers.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/dtype.h"

namespace hw {

/// An attribute of the op as the functor sees it: both forms are filled.
struct LoopParam {
  double f = 0;
  int64_t i = 0;
  bool given = false;  // false for None
};

/// out[k] = functor(in[0][k], in[1][k], ...) for k in [0, n). All buffers contiguous; `out` may be one of the inputs.
using ElementwiseLoop = void (*)(const void* const* in, void* out, int64_t n, const LoopParam* params);

/// `compute` is the element type of all inputs: never f16 or bf16, which the driver stages as f32. `out` is the element type of the
/// output: the same, or bool for comparisons and predicates, or the real type for abs/real/imag/angle of complex.
struct ElementwiseEntry {
  std::string_view op;
  int arity;
  DType compute;
  DType out;
  ElementwiseLoop loop;
};

/// The best loop for this machine and HEADWATER_ISA, or null if the functor is not defined for `compute`.
const ElementwiseEntry* find_elementwise(std::string_view op, DType compute);

/// All entries of one translation unit, for the instruction set in use: called once per unit at load time.
struct RegisterElementwise {
  using Fill = void (*)(void (*add)(const ElementwiseEntry& entry));
  explicit RegisterElementwise(Fill fill);
};

}  // namespace hw

// Contiguous inner loops of the elementwise functors, by op and compute dtype.
// The driver (driver.cpp) brings every layout and dtype to this one form through small staging buffers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/attr.h"

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
  int cost;  // 1: bound by memory; more: so many times the work, for the size of a piece per thread
};

using AddElementwise = void (*)(const ElementwiseEntry& entry);

/// The best loop for this machine and HEADWATER_ISA, or null if the functor is not defined for `compute`.
const ElementwiseEntry* find_elementwise(std::string_view op, DType compute);

/// The same from the scalar expressions, compiled without SIMD: what the reference kernel uses.
const ElementwiseEntry* find_reference_elementwise(std::string_view op, DType compute);

/// All entries of one translation unit. `fill` adds those of the instruction set in use; it is called once at load time, for the
/// names of the ops, and once for each instruction set that is asked for.
struct RegisterElementwise {
  using Fill = void (*)(AddElementwise add);
  explicit RegisterElementwise(Fill fill);
};
struct RegisterReferenceElementwise {
  explicit RegisterReferenceElementwise(RegisterElementwise::Fill fill);
};

/// The functor that computes `op` with these attributes: gelu with approximate="tanh" is the functor gelu_tanh, and so on.
std::string_view functor_name(std::string_view op, const Attrs& attrs);
/// Attributes as functors see them, by position. Text has no value.
using LoopParams = std::array<LoopParam, 4>;
LoopParams loop_params(const Attrs& attrs);

}  // namespace hw

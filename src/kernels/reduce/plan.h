// A reduction in canonical form: the axes that stay and the axes that go, sorted and merged.
#pragma once

#include "kernels/kernel.h"
#include "kernels/loops/nest.h"

namespace hw {

struct ReducePlan {
  Nest kept;     // operand 0: the input, operand 1: the first output; innermost first by the input's strides
  Nest reduced;  // operand 0: the input
};

/// `dim` as an attribute: None or an empty list is every axis, an Int one axis.
Dims reduced_axes(const AttrValue& dim, int64_t ndim);

/// `out` is the spec of the result, with or without the reduced axes.
ReducePlan make_reduce_plan(const TensorSpec& in, const TensorSpec& out, const Dims& axes);

/// What an op reduces with. Elements are mapped, then combined; partial results are merged by the combining alone.
enum class ReduceKind : uint8_t {
  Sum,
  Prod,
  Max,
  Min,
  Any,
  All,
  SumSquares,
  SumAbs,
  MaxAbs,
  MinAbs,
  CountNonzero,
  Moments,
  LogSumExp
};

/// The kind, what happens at the end, and the dtype that elements are converted to first.
struct ReduceRecipe {
  enum class Finish : uint8_t { None, Divide, Root, Deviation };
  ReduceKind kind = ReduceKind::Sum;
  Finish finish = Finish::None;  // Divide: by the number of elements; Deviation: the root of Moments
  double correction = 0;         // what Moments take off the number of elements in the divisor
  DType compute = DType::None;
  Dims axes;
};

/// False with the reason when the request is not a reduction of this form.
bool reduce_recipe(const KernelRequest& request, ReduceRecipe& recipe, std::string& why_not);

/// Scales or roots n accumulators of floating or complex dtype.
void finish_reduction(ReduceRecipe::Finish finish, DType dtype, void* values, int64_t n, int64_t count);

}  // namespace hw

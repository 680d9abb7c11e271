// Bounds beyond the range of an integer dtype; see the header.
#include "ops/elementwise/clamp_bound.h"

#include "base/error.h"
#include "op/math.h"
#include "op/number_rule.h"

namespace hw {

Tensor bound_in_range(const Tensor& input, const Tensor& bound, bool lower) {
  const DType dtype = input.dtype();
  if (input->wrapped && !bound->wrapped && is_integral(dtype) && is_integral(bound.dtype())) {
    check_stored("input", input.item(), bound.dtype());
    check_runtime(bound.dtype() != DType::U8 || input.item().i64() >= 0, "input ", input.item(),
                  " does not fit u8, whose range is [0, 255]. Use a signed dtype.");
  }
  if (!bound->wrapped || !is_integral(dtype) || is_inexact(bound.dtype())) return bound;
  const int64_t bits = dtype_size(dtype) * 8;
  const bool is_unsigned = dtype == DType::U8;
  const int64_t most = is_unsigned ? 255 : static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1),
                least = is_unsigned ? 0 : -most - 1;
  const int64_t b = bound.item().i64();
  check_runtime(lower ? b <= most : b >= least, lower ? "min " : "max ", b, " is outside the range of ", dtype,
                ", which is [", least, ", ", most, "]");
  return b < least ? number(Scalar(least)) : b > most ? number(Scalar(most)) : bound;
}

}  // namespace hw

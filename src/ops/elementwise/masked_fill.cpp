// masked_fill: one value where a mask is True.
#include <cmath>

#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// A value that would be cut off is refused: 1.5 or 300 into u8, a complex number into a real dtype.
static void check_fits(const Tensor& value, DType into) {
  if (into == DType::Bool || is_complex(into)) return;
  // Known without a look at the value.
  if ((is_floating(into) && !is_complex(value.dtype())) || value.dtype() == into || value.dtype() == DType::Bool)
    return;
  const Scalar s = value.item();
  bool fits = s.kind() != Scalar::Kind::Complex;
  if (fits && is_integral(into)) {
    const int64_t bits = dtype_size(into) * 8;
    const bool is_unsigned = into == DType::U8;
    const double low = is_unsigned ? 0 : -std::ldexp(1.0, static_cast<int>(bits - 1));
    const double end = std::ldexp(1.0, static_cast<int>(is_unsigned ? bits : bits - 1));
    fits = s.f64() == std::trunc(s.f64()) && s.f64() >= low && (s.f64() < end || s.kind() == Scalar::Kind::Int);
    fits = fits && (bits == 64 || s.f64() < end);
  }
  check_runtime(fits, "value ", s, " cannot be stored in ", into, " without loss");
}

static const RegisterOp op =
    OpDef("masked_fill")
        .doc(
            "Returns input with value where mask is True. mask must be bool and broadcast with input. A value that the "
            "dtype of input cannot hold raises RuntimeError.")
        .in("input", "any shape")
        .in("mask", "a shape that broadcasts with input", boolean)
        .in("value", "a number or a 0-d tensor")
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          const Tensor& value = in[2];
          check_runtime(value.ndim() == 0, "value must be a number or a 0-d tensor, got ", value);
          check_fits(value, in[0].dtype());
          return {where(in[1], to(value, in[0].dtype()), in[0])};
        });

}  // namespace hw

// isclose: whether two elements are nearly equal.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("isclose")
        .doc(
            "Returns True where |input - other| <= atol + rtol * |other|, or both are equal; with equal_nan, also "
            "where both are NaN.")
        .in("input", "any shape")
        .in("other", "any shape that broadcasts with input")
        .attr("rtol", 1e-5, "relative tolerance")
        .attr("atol", 1e-8, "absolute tolerance")
        .attr("equal_nan", false, "whether NaN is close to NaN")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op isfinite{"isfinite"}, isnan{"isnan"}, logical_or{"logical_or"};
          Tensor a = in[0], b = in[1];
          if (a->wrapped != b->wrapped && is_integral(a.dtype()) &&
              is_integral(b.dtype()))  // any number can be asked for
            a = to(a.alias(), DType::I64), b = to(b.alias(), DType::I64);
          check_runtime(a.dtype() == b.dtype() || a->wrapped || b->wrapped, "the dtypes differ: ", a.dtype(), " and ",
                        b.dtype(), ". Convert one with .to().");
          check(attrs[0].f64() >= 0 && attrs[1].f64() >= 0, "rtol and atol must not be negative, got ", attrs[0].f64(),
                " and ", attrs[1].f64());
          Tensor close = eq(a, b);
          if (attrs[2].truth() && is_inexact(a.dtype()))
            close = logical_or({close, logical_and(isnan({a}), isnan({b}))});
          if (attrs[0].f64() == 0 && attrs[1].f64() == 0) return {close};
          DType wide = is_inexact(a.dtype()) ? a.dtype() : default_dtype();
          Tensor x = to(a, wide), y = to(b, wide);
          Tensor allowed = abs(y * attrs[0].f64()) + attrs[1].f64(), distance = abs(x - y);
          return {logical_or({close, logical_and(isfinite({distance}), le(distance, allowed))})};
        });

}  // namespace hw

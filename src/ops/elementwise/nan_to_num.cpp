// nan_to_num: numbers instead of NaN and infinities.
#include <limits>

#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// The largest finite number of a floating dtype.
static double largest(DType d) {
  switch (d) {
    case DType::F16: return 65504.0;
    case DType::BF16: return 3.3895313892515355e38;
    case DType::F32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

static const RegisterOp op =
    OpDef("nan_to_num")
        .doc(
            "Returns input with NaN replaced by `nan`, infinity by `posinf` and minus infinity by `neginf`. Without "
            "them: 0, and the largest and least finite number of the dtype.")
        .in("input", "any shape", real_types)
        .attr_none("nan", AttrValue::Kind::Float, "instead of NaN; default 0")
        .attr_none("posinf", AttrValue::Kind::Float, "instead of infinity")
        .attr_none("neginf", AttrValue::Kind::Float, "instead of minus infinity")
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op replace{"_nan_to_num"};
          if (!is_inexact(in[0].dtype())) return {clone(in[0])};
          const double most = largest(in[0].dtype());
          return {replace({in[0]}, {attrs[0].none() ? 0.0 : attrs[0].f64(), attrs[1].none() ? most : attrs[1].f64(),
                                    attrs[2].none() ? -most : attrs[2].f64()})};
        });

}  // namespace hw

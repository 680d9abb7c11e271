// rms_norm: division by the root of the mean square over the last axes.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// The distance from 1 to the next number of the dtype, as torch takes it when eps is None.
static double epsilon(DType d) {
  switch (d) {
    case DType::F16: return 0x1p-10;
    case DType::BF16: return 0x1p-7;
    case DType::F32: return 0x1p-23;
    default: return 0x1p-52;
  }
}

static const RegisterOp op =
    OpDef("rms_norm")
        .doc(
            "Returns x / sqrt(mean(x^2) + eps) * weight, with the mean over the last axes, whose sizes are "
            "`normalized_shape` "
            "(Zhang, Sennrich 2019).")
        .example(">>> hw.rms_norm(hw.tensor([[3.0, 3.0]]), (2,))\ntensor([[1., 1.]])")
        .in("input", "[..., *normalized_shape]", floating)
        .attr_required("normalized_shape", AttrValue::Kind::Ints, "the sizes of the last axes")
        .in_optional("weight", "normalized_shape", floating)
        .attr_none("eps", AttrValue::Kind::Float, "added to the mean square; None: the epsilon of the dtype")
        .out("y")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op norm{"_layer_norm"};
          const double eps = attrs[1].none() ? epsilon(in[0].dtype()) : attrs[1].f64();
          return {norm.all({in[0], in[1], Tensor()}, {attrs[0], eps, false})[0]};
        });

}  // namespace hw

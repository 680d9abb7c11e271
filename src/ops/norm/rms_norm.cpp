// rms_norm: division by the root of the mean square over the last axes.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// When eps is None: the distance from 1 to the next number of the dtype in which is computed, as torch takes it.
static double epsilon(DType d) { return d == DType::F64 ? 0x1p-52 : 0x1p-23; }

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
        .attr_none("eps", AttrValue::Kind::Float, "added to the mean square; None: 2^-23, for float64 2^-52")
        .out("y")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op norm{"_layer_norm"};
          const double eps = attrs[1].none() ? epsilon(in[0].dtype()) : attrs[1].f64();
          return {norm.all({in[0], in[1], Tensor()}, {attrs[0], eps, false})[0]};
        });

}  // namespace hw

// layer_norm: normalisation over the last axes.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("layer_norm")
        .doc(
            "Returns (x - mean) / sqrt(var + eps) * weight + bias, with mean and (biased) variance over the last axes, "
            "whose sizes "
            "are `normalized_shape` (Ba, Kiros, Hinton 2016).")
        .example(">>> hw.layer_norm(hw.tensor([[1.0, 3.0]]), (2,))\ntensor([[-1.0000,  1.0000]])")
        .in("input", "[..., *normalized_shape]", floating)
        .attr_required("normalized_shape", AttrValue::Kind::Ints, "the sizes of the last axes")
        .in_optional("weight", "normalized_shape", floating)
        .in_optional("bias", "normalized_shape", floating)
        .attr("eps", 1e-5, "added to the variance")
        .attr("cudnn_enable", true, "accepted and ignored")
        .out("y")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op norm{"_layer_norm"};
          return {norm.all(in, {attrs[0], attrs[1], true})[0]};
        });

}  // namespace hw

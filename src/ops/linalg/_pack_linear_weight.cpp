// _pack_linear_weight: the weight of a linear layer in the order in which _linear_packed reads it.
#include "base/error.h"
#include "op/rules.h"

namespace hw {

constexpr DTypeSet f32_only = dtype_bit(DType::F32);

static Dims packed_shape(const InferCtx& c) {
  const Dims& w = c.in[0].shape;
  check_runtime(w.size() == 2, "weight must have 2 axes [out_features, in_features], got ", w);
  const int64_t width = c.attr("width").i64();
  check_runtime(width > 0, "width must be positive, got ", width);
  return {(w[0] + width - 1) / width, w[1], width};
}

static const RegisterOp op =
    OpDef("_pack_linear_weight")
        .doc(
            "Puts `width` rows of a linear layer's weight side by side, with zeros behind the last one, once for many "
            "calls of _linear_packed: element (o, i) goes to [o / width, i, o % width].")
        .in("weight", "[out_features, in_features]", f32_only)
        .attr("width", 16, "rows that lie side by side")
        .out("packed", dtype::same, packed_shape)
        .internal()
        .no_sbp("rows lie side by side, and parts need not be multiples of their number")
        .flops([](const InferCtx&) { return 0.0; })
        .no_grad("for inference; linear has the gradient")
        .no_onnx("a plan's own form of the weight");

}  // namespace hw

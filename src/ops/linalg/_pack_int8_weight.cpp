// _pack_int8_weight: the int8 weight of a linear layer in the order in which _linear_int8 reads it.
#include "base/error.h"
#include "op/rules.h"

namespace hw {

static Dims packed_shape(const InferCtx& c) {
  const Dims& w = c.in[0].shape;
  check_runtime(w.size() == 2, "weight must have 2 axes [out_features, in_features], got ", w);
  const int64_t width = c.attr("width").i64();
  check_runtime(width > 0, "width must be positive, got ", width);
  return {(w[0] + width - 1) / width, (w[1] + 1) / 2, width, 2};
}

static const RegisterOp op = OpDef("_pack_int8_weight")
                                 .doc(
                                     "Puts pairs of columns of `width` rows of an int8 weight side by side, with zeros "
                                     "where there are none: element (o, i) "
                                     "goes to [o / width, i / 2, o % width, i % 2].")
                                 .in("weight", "[out_features, in_features]", dtype_bit(DType::I8))
                                 .attr("width", 16, "rows that lie side by side")
                                 .out("packed", dtype::same, packed_shape)
                                 .internal()
                                 .no_sbp("rows lie side by side, and parts need not be multiples of their number")
                                 .flops([](const InferCtx&) { return 0.0; })
                                 .no_grad("integer output")
                                 .no_onnx("a plan's own form of the weight");

}  // namespace hw

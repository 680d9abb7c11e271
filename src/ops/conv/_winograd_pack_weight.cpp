// _winograd_pack_weight: the weights of a 3x3 convolution, transformed for _conv2d_winograd.
#include "base/error.h"
#include "op/rules.h"

namespace hw {

constexpr DTypeSet f32_only = dtype_bit(DType::F32);

static Dims packed_shape(const InferCtx& c) {
  const Dims& w = c.in[0].shape;
  const int64_t tile = c.attr("tile").i64();
  const int64_t stride = c.attr("stride").i64();
  check_runtime(tile == 2 || tile == 4, "tile must be 2 or 4, got ", tile);
  check_runtime(stride == 1 || (stride == 2 && tile == 4), "stride must be 1, or 2 with tile=4; got ", stride,
                " with tile=", tile);
  check_runtime(w.size() == 4 && w[2] == 3 && w[3] == 3, "weight must be [out_channels, channels, 3, 3], got ", w);
  return {(w[0] + 15) / 16, (tile + 2) * (tile + 2), (w[1] + 3) / 4 * 4, 16};
}

static double pack_flops(const InferCtx& c) {
  const double n = static_cast<double>(c.attr("tile").i64() + 2);
  return static_cast<double>(c.in[0].numel()) / 9.0 * 6.0 * (3.0 * n + n * n);
}

static const RegisterOp op = OpDef("_winograd_pack_weight")
                                 .doc(
                                     "Transforms the weights of a 3x3 convolution after Winograd, once for many calls "
                                     "of _conv2d_winograd with the "
                                     "same tile and stride.")
                                 .in("weight", "[out_channels, channels, 3, 3]", f32_only)
                                 .attr("tile", 4, "outputs of one tile along each axis, 2 or 4")
                                 .attr("stride", 1, "of the convolution, 1 or 2; 2 needs tile 4")
                                 .out("packed", dtype::same, packed_shape)
                                 .internal()
                                 .no_sbp("16 output channels lie side by side, and parts need not be multiples of that")
                                 .flops(pack_flops)
                                 .no_grad("for inference; conv2d has the gradient")
                                 .no_onnx("a plan's own form of the weights");

}  // namespace hw

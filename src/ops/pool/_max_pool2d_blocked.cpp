// _max_pool2d_blocked: the largest value of each window of a blocked image.
#include "op/cost.h"
#include "op/rules.h"
#include "ops/conv/sizes.h"
#include "ops/pool/pools.h"

#include "base/error.h"

namespace hw {

static Dims blocked_pool_shape(const InferCtx& c) {
  Dims y = c.in[0].shape;
  check_runtime(y.size() == 5, "input must be [batch, channels / block, height, width, block], got ", y);
  for (int64_t a = 0; a < 2; ++a) {
    const auto of = [&](const char* name) { return per_axis(c.attr(name), a, 2, name); };
    const int64_t kernel = of("kernel_size"), stride = of("stride"), padding = of("padding"), dilation = of("dilation");
    check_runtime(
        kernel > 0 && stride > 0 && dilation > 0 && padding >= 0 && 2 * padding <= (kernel - 1) * dilation + 1,
        "kernel_size, stride and dilation must be positive, padding at most half of the kernel");
    int64_t& size = y[static_cast<size_t>(a) + 2];
    size = pooled_size(size, kernel, stride, padding, dilation, c.attr("ceil_mode").truth());
    check_runtime(size > 0, "input ", c.in[0].shape, " is too small for a window of ", (kernel - 1) * dilation + 1);
  }
  return y;
}

static const RegisterOp op = OpDef("_max_pool2d_blocked")
                                 .doc("max_pool2d of an image whose channels lie in blocks, without indices.")
                                 .in("input", "[batch, channels / block, height, width, block]", dtype_bit(DType::F32))
                                 .attr_required("kernel_size", AttrValue::Kind::Ints)
                                 .attr_required("stride", AttrValue::Kind::Ints)
                                 .attr_required("padding", AttrValue::Kind::Ints)
                                 .attr_required("dilation", AttrValue::Kind::Ints)
                                 .attr("ceil_mode", false)
                                 .out("y", dtype::same, blocked_pool_shape)
                                 .internal()
                                 .flops([](const InferCtx& c) { return cost::window(c); })
                                 .sbp([](SbpCtx& c) {
                                   c.add({split(0)}, {split(0)});
                                   c.add({split(1)}, {split(1)});
                                 })
                                 .no_grad("for inference; max_pool2d has the gradient")
                                 .no_onnx("a plan's own form of MaxPool");

}  // namespace hw

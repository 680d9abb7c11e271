// log_softmax: the logarithm of softmax, without overflow.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/nn/softmax_rule.h"

namespace hw {

static const RegisterOp op =
    OpDef("log_softmax")
        .doc("Returns x - log(sum(exp(x))) along the axis `dim`, without overflow.")
        .example(">>> hw.log_softmax(hw.tensor([0.0, 0.0]), dim=0)\ntensor([-0.6931, -0.6931])")
        .in("input", "any shape", real_types)
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .attr_none("dtype", AttrValue::Kind::DType, "the input is converted to this first")
        .out("y", softmax_dtype, softmax_shape)
        .autocast(Autocast::F32)
        .sbp(sbp::along_dim)
        .flops([](const InferCtx& c) { return 5.0 * static_cast<double>(c.in[0].numel()); })
        .grad("y",
              [](GradCtx& g) {
                static const Op grad{"_log_softmax_grad"};
                g.dx(0, grad({g.dy(), g.out()}, {g.attr("dim").i64()}));
              })
        .onnx("LogSoftmax");

}  // namespace hw

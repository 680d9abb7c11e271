// softmax: exponentials along an axis, divided by their sum.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/nn/softmax_rule.h"

namespace hw {

static const RegisterOp op = OpDef("softmax")
                                 .doc("Returns exp(x) / sum(exp(x)) along the axis `dim`.")
                                 .example(">>> hw.softmax(hw.tensor([0.0, 0.0]), dim=0)\ntensor([0.5000, 0.5000])")
                                 .in("input", "any shape", real_types)
                                 .attr_required("dim", AttrValue::Kind::Int, "the axis")
                                 .attr_none("dtype", AttrValue::Kind::DType, "the input is converted to this first")
                                 .out("y", softmax_dtype, softmax_shape)
                                 .autocast(Autocast::F32)
                                 .sbp(sbp::along_dim)
                                 .flops([](const InferCtx& c) { return 5.0 * static_cast<double>(c.in[0].numel()); })
                                 .grad("y",
                                       [](GradCtx& g) {
                                         static const Op grad{"_softmax_grad"};
                                         g.dx(0, grad({g.dy(), g.out()}, {g.attr("dim").i64()}));
                                       })
                                 .onnx("Softmax");

}  // namespace hw

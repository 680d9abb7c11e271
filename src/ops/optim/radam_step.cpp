// radam_step: one step of RAdam (Liu et al., arXiv:1908.03265).
#include "op/cost.h"
#include "ops/optim/step_attributes.h"

namespace hw {

static const RegisterOp op =
    adam_attributes(OpDef("radam_step")
                        .doc("Adam's means m and v; the step is lr / (1 - beta1^step) * m until v can be "
                             "trusted, and then divided by sqrt(v) "
                             "+ eps and multiplied by the rectification.")
                        .in("param", "any shape; rewritten", floating)
                        .in("grad", "as param", floating)
                        .in("exp_avg", "as param; rewritten", floating)
                        .in("exp_avg_sq", "as param; rewritten", floating))
        .infer(step_outputs)
        .out("param")
        .out("exp_avg")
        .out("exp_avg_sq")
        .internal()
        .flops(cost::per_input<15>)
        .sbp(sbp::elementwise)
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

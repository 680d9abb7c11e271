// adam_step: one step of Adam (Kingma and Ba, 2015), AdamW (Loshchilov and Hutter, 2019) or AMSGrad.
#include "op/cost.h"
#include "ops/optim/step_attributes.h"

namespace hw {

static const RegisterOp op =
    adam_attributes(
        OpDef("adam_step")
            .doc("m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2; with both divided by 1 - "
                 "beta^step: "
                 "param -= lr * m / (sqrt(v) + eps). `decoupled` shrinks param by lr * weight_decay (AdamW); otherwise "
                 "weight_decay * param is added to the gradient. With max_exp_avg_sq, the largest v so far is used "
                 "(AMSGrad).")
            .in("param", "any shape; rewritten", floating)
            .in("grad", "as param", floating)
            .in("exp_avg", "as param; rewritten", floating)
            .in("exp_avg_sq", "as param; rewritten", floating)
            .in_optional("max_exp_avg_sq", "as param; rewritten", floating))
        .infer(step_outputs)
        .out("param")
        .out("exp_avg")
        .out("exp_avg_sq")
        .out("max_exp_avg_sq")
        .internal()
        .flops(cost::per_input<15>)
        .sbp(sbp::elementwise)
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

// adam_step: one step of Adam (Kingma and Ba, 2015), AdamW (Loshchilov and Hutter, 2019) or AMSGrad.
#include "ops/optim/step_rule.h"

namespace hw {

static const RegisterOp op =
    OpDef("adam_step")
        .doc(
            "m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2; with both divided by 1 - beta^step: "
            "param -= lr * m / (sqrt(v) + eps). `decoupled` shrinks param by lr * weight_decay (AdamW); otherwise "
            "weight_decay * param is added to the gradient. With max_exp_avg_sq, the largest v so far is used "
            "(AMSGrad).")
        .in("param", "any shape; rewritten", floating)
        .in("grad", "as param", floating)
        .in("exp_avg", "as param; rewritten", floating)
        .in("exp_avg_sq", "as param; rewritten", floating)
        .in_optional("max_exp_avg_sq", "as param; rewritten", floating)
        .attr("lr", 1e-3, "learning rate")
        .dynamic()
        .attr("beta1", 0.9, "decay of the mean")
        .dynamic()
        .attr("beta2", 0.999, "decay of the mean square")
        .dynamic()
        .attr("eps", 1e-8, "added to the root")
        .dynamic()
        .attr("weight_decay", 0.0, "see above")
        .dynamic()
        .attr("step", 1, "which step this is, from 1")
        .dynamic()
        .attr("decoupled", false, "AdamW's weight decay")
        .dynamic()
        .attr("maximize", false, "climb instead of descend")
        .dynamic()
        .infer(step_outputs)
        .out("param")
        .out("exp_avg")
        .out("exp_avg_sq")
        .out("max_exp_avg_sq")
        .internal()
        .sbp(sbp::elementwise)
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

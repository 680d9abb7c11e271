// adamax_step: one step of Adamax (Kingma and Ba, arXiv:1412.6980, section 7.1).
#include "op/cost.h"
#include "ops/optim/step_rule.h"

namespace hw {

static const RegisterOp op =
    OpDef("adamax_step")
        .doc("m = beta1 * m + (1 - beta1) * g; u = max(beta2 * u, |g| + eps); param -= lr / (1 - beta1^step) * m / u.")
        .in("param", "any shape; rewritten", floating)
        .in("grad", "as param", floating)
        .in("exp_avg", "as param; rewritten", floating)
        .in("exp_inf", "as param; rewritten", floating)
        .attr("lr", 2e-3, "learning rate")
        .dynamic()
        .attr("beta1", 0.9, "decay of the mean")
        .dynamic()
        .attr("beta2", 0.999, "decay of the largest gradient")
        .dynamic()
        .attr("eps", 1e-8, "added to the gradient's size")
        .dynamic()
        .attr("weight_decay", 0.0, "factor of the parameter that is added to the gradient")
        .dynamic()
        .attr("step", 1, "which step this is, from 1")
        .dynamic()
        .attr("maximize", false, "climb instead of descend")
        .dynamic()
        .infer(step_outputs)
        .out("param")
        .out("exp_avg")
        .out("exp_inf")
        .internal()
        .flops(cost::per_input<10>)
        .sbp(sbp::elementwise)
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

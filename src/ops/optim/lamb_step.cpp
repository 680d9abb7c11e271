// lamb_step: one step of LAMB (You et al., 2020): Adam's direction scaled, for each tensor, to the size of the parameter.
#include "op/cost.h"
#include "ops/optim/step_rule.h"

namespace hw {

static const RegisterOp op =
    OpDef("lamb_step")
        .doc(
            "With m, v as in Adam (both divided by 1 - beta^step): u = m / (sqrt(v) + eps) + weight_decay * param; "
            "param -= lr * (|param| / |u|) * u. The ratio is 1 where either norm is 0. Algorithm 2 of "
            "arXiv:1904.00962.")
        .in("param", "any shape; rewritten", floating)
        .in("grad", "as param", floating)
        .in("exp_avg", "as param; rewritten", floating)
        .in("exp_avg_sq", "as param; rewritten", floating)
        .attr("lr", 1e-3, "learning rate")
        .dynamic()
        .attr("beta1", 0.9, "decay of the mean")
        .dynamic()
        .attr("beta2", 0.999, "decay of the mean square")
        .dynamic()
        .attr("eps", 1e-6, "added to the root")
        .dynamic()
        .attr("weight_decay", 0.0, "factor of the parameter in u")
        .dynamic()
        .attr("step", 1, "which step this is, from 1")
        .dynamic()
        .attr("maximize", false, "climb instead of descend")
        .dynamic()
        .infer(step_outputs)
        .out("param")
        .out("exp_avg")
        .out("exp_avg_sq")
        .internal()
        .flops(cost::per_input<20>)
        .sbp(sbp::broadcast_only)
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

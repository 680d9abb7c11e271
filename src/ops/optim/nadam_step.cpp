// nadam_step: one step of NAdam (Dozat, 2016).
#include "op/cost.h"
#include "ops/optim/step_rule.h"

namespace hw {

static const RegisterOp op =
    OpDef("nadam_step")
        .doc(
            "Adam's means m and v, with Nesterov's momentum mu(n) = beta1 * (1 - 0.5 * 0.96^(n * momentum_decay)). "
            "mu_product = mu(1) * ... * mu(step); next = mu(step + 1); d = sqrt(v / (1 - beta2^step)) + eps; param -= "
            "lr / d * ((1 - mu(step)) / (1 - mu_product) * g + next / (1 - mu_product * next) * m).")
        .in("param", "any shape; rewritten", floating)
        .in("grad", "as param", floating)
        .in("exp_avg", "as param; rewritten", floating)
        .in("exp_avg_sq", "as param; rewritten", floating)
        .attr("lr", 2e-3, "learning rate")
        .dynamic()
        .attr("beta1", 0.9, "decay of the mean")
        .dynamic()
        .attr("beta2", 0.999, "decay of the mean square")
        .dynamic()
        .attr("eps", 1e-8, "added to the root")
        .dynamic()
        .attr("weight_decay", 0.0, "see adam_step")
        .dynamic()
        .attr("step", 1, "which step this is, from 1")
        .dynamic()
        .attr("decoupled", false, "AdamW's weight decay")
        .dynamic()
        .attr("maximize", false, "climb instead of descend")
        .dynamic()
        .attr("momentum_decay", 4e-3, "how fast the momentum grows to beta1")
        .dynamic()
        .attr("mu_product", 0.45, "the product of all momenta, with that of this step")
        .dynamic()
        .infer(step_outputs)
        .out("param")
        .out("exp_avg")
        .out("exp_avg_sq")
        .internal()
        .flops(cost::per_input<18>)
        .sbp(sbp::elementwise)
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

// nadam_step: one step of NAdam (Dozat, 2016).
#include "op/cost.h"
#include "ops/optim/step_attributes.h"

namespace hw {

static const RegisterOp op =
    adam_attributes(
        OpDef("nadam_step")
            .doc(
                "Adam's means m and v, with Nesterov's momentum mu(n) = beta1 * (1 - 0.5 * 0.96^(n * momentum_decay)). "
                "mu_product = mu(1) * ... * mu(step); next = mu(step + 1); d = sqrt(v / (1 - beta2^step)) + eps; param "
                "-= "
                "lr / d * ((1 - mu(step)) / (1 - mu_product) * g + next / (1 - mu_product * next) * m).")
            .in("param", "any shape; rewritten", floating)
            .in("grad", "as param", floating)
            .in("exp_avg", "as param; rewritten", floating)
            .in("exp_avg_sq", "as param; rewritten", floating),
        2e-3)
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

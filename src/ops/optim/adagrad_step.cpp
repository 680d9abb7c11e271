// adagrad_step: one step of Adagrad (Duchi, Hazan and Singer, 2011).
#include "op/cost.h"
#include "ops/optim/step_attributes.h"

namespace hw {

static const RegisterOp op =
    adagrad_attributes(OpDef("adagrad_step")
                           .doc("sum += g^2; param -= lr / (1 + (step - 1) * lr_decay) * g / (sqrt(sum) + eps).")
                           .in("param", "any shape; rewritten", floating)
                           .in("grad", "as param", floating)
                           .in("sum", "as param; rewritten", floating))
        .infer(step_outputs)
        .out("param")
        .out("sum")
        .internal()
        .flops(cost::per_input<8>)
        .sbp(sbp::elementwise)
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

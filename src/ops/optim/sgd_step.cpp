// sgd_step: one step of stochastic gradient descent, with momentum, weight decay and Nesterov's look-ahead.
#include "op/cost.h"
#include "ops/optim/step_attributes.h"

namespace hw {

static const RegisterOp op =
    sgd_attributes(
        OpDef("sgd_step")
            .doc("g = grad + weight_decay * param; b = momentum * b + (1 - dampening) * g (b = g when `first`); "
                 "param -= lr * (nesterov ? g + momentum * b : b). Without momentum_buffer, param -= lr * g.")
            .in("param", "any shape; rewritten", floating)
            .in("grad", "as param", floating)
            .in_optional("momentum_buffer", "as param; rewritten", floating))
        .infer(step_outputs)
        .out("param")
        .out("momentum_buffer")
        .internal()
        .flops(cost::per_input<4>)
        .sbp(sbp::elementwise)
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

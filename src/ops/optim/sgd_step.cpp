// sgd_step: one step of stochastic gradient descent, with momentum, weight decay and Nesterov's look-ahead.
#include "ops/optim/step_rule.h"

namespace hw {

static const RegisterOp op =
    OpDef("sgd_step")
        .doc(
            "g = grad + weight_decay * param; b = momentum * b + (1 - dampening) * g (b = g when `first`); "
            "param -= lr * (nesterov ? g + momentum * b : b). Without momentum_buffer, param -= lr * g.")
        .in("param", "any shape; rewritten", floating)
        .in("grad", "as param", floating)
        .in_optional("momentum_buffer", "as param; rewritten", floating)
        .attr("lr", 1e-3, "learning rate")
        .dynamic()
        .attr("momentum", 0.0, "factor of the buffer")
        .dynamic()
        .attr("dampening", 0.0, "what is withheld of the gradient when it enters the buffer")
        .dynamic()
        .attr("weight_decay", 0.0, "factor of the parameter that is added to the gradient")
        .dynamic()
        .attr("nesterov", false, "Nesterov's momentum")
        .attr("maximize", false, "climb instead of descend")
        .dynamic()
        .attr("first", false, "the buffer is empty: it becomes the gradient")
        .dynamic()
        .infer(step_outputs)
        .out("param")
        .out("momentum_buffer")
        .internal()
        .sbp(sbp::elementwise)
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

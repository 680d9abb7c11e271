// rmsprop_step: one step of RMSprop (Tieleman and Hinton, 2012), centred and with momentum where asked.
#include "op/cost.h"
#include "ops/optim/step_attributes.h"

namespace hw {

static const RegisterOp op =
    rmsprop_attributes(
        OpDef("rmsprop_step")
            .doc("v = alpha * v + (1 - alpha) * g^2; d = g / (sqrt(v) + eps); param -= lr * d, or by way of "
                 "b = momentum * b + d with momentum_buffer. With grad_avg, its square is taken off v under the root "
                 "(centred).")
            .in("param", "any shape; rewritten", floating)
            .in("grad", "as param", floating)
            .in("square_avg", "as param; rewritten", floating)
            .in_optional("momentum_buffer", "as param; rewritten", floating)
            .in_optional("grad_avg", "as param; rewritten", floating))
        .infer(step_outputs)
        .out("param")
        .out("square_avg")
        .out("momentum_buffer")
        .out("grad_avg")
        .internal()
        .flops(cost::per_input<12>)
        .sbp(sbp::elementwise)
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

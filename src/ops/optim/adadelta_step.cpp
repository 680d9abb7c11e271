// adadelta_step: one step of Adadelta (Zeiler, arXiv:1212.5701).
#include "op/cost.h"
#include "ops/optim/step_rule.h"

namespace hw {

static const RegisterOp op = OpDef("adadelta_step")
                                 .doc(
                                     "square = rho * square + (1 - rho) * g^2; d = sqrt(acc + eps) / sqrt(square + "
                                     "eps) * g; acc = rho * acc + (1 - rho) * "
                                     "d^2; param -= lr * d.")
                                 .in("param", "any shape; rewritten", floating)
                                 .in("grad", "as param", floating)
                                 .in("square_avg", "as param; rewritten", floating)
                                 .in("acc_delta", "as param; rewritten", floating)
                                 .attr("lr", 1.0, "factor of the step")
                                 .dynamic()
                                 .attr("rho", 0.9, "decay of both mean squares")
                                 .dynamic()
                                 .attr("eps", 1e-6, "added under the roots")
                                 .dynamic()
                                 .attr("weight_decay", 0.0, "factor of the parameter that is added to the gradient")
                                 .dynamic()
                                 .attr("maximize", false, "climb instead of descend")
                                 .dynamic()
                                 .infer(step_outputs)
                                 .out("param")
                                 .out("square_avg")
                                 .out("acc_delta")
                                 .internal()
                                 .flops(cost::per_input<12>)
                                 .sbp(sbp::elementwise)
                                 .no_grad("an optimiser step is not differentiated")
                                 .no_onnx("training only");

}  // namespace hw

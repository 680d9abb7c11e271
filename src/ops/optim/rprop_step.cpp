// rprop_step: one step of Rprop (Riedmiller and Braun, 1993).
#include "op/cost.h"
#include "ops/optim/step_rule.h"

namespace hw {

static const RegisterOp op = OpDef("rprop_step")
                                 .doc(
                                     "A weight's step size grows by eta_up while the sign of its gradient stays, and "
                                     "shrinks by eta_down where it turns; "
                                     "there the gradient counts as zero. param -= sign(g) * step_size.")
                                 .in("param", "any shape; rewritten", floating)
                                 .in("grad", "as param", floating)
                                 .in("prev", "as param; rewritten", floating)
                                 .in("step_size", "as param; rewritten", floating)
                                 .attr("eta_down", 0.5, "factor where the sign turns")
                                 .dynamic()
                                 .attr("eta_up", 1.2, "factor where it stays")
                                 .dynamic()
                                 .attr("least", 1e-6, "bound of step sizes")
                                 .dynamic()
                                 .attr("most", 50.0, "bound of step sizes")
                                 .dynamic()
                                 .attr("maximize", false, "climb instead of descend")
                                 .dynamic()
                                 .infer(step_outputs)
                                 .out("param")
                                 .out("prev")
                                 .out("step_size")
                                 .internal()
                                 .flops(cost::per_input<8>)
                                 .sbp(sbp::elementwise)
                                 .no_grad("an optimiser step is not differentiated")
                                 .no_onnx("training only");

}  // namespace hw

// adagrad_step: one step of Adagrad (Duchi, Hazan and Singer, 2011).
#include "ops/optim/step_rule.h"

namespace hw {

static const RegisterOp op = OpDef("adagrad_step")
                                 .doc("sum += g^2; param -= lr / (1 + (step - 1) * lr_decay) * g / (sqrt(sum) + eps).")
                                 .in("param", "any shape; rewritten", floating)
                                 .in("grad", "as param", floating)
                                 .in("sum", "as param; rewritten", floating)
                                 .attr("lr", 1e-3, "learning rate")
                                 .dynamic()
                                 .attr("lr_decay", 0.0, "decay of the learning rate")
                                 .dynamic()
                                 .attr("eps", 1e-10, "added to the root")
                                 .dynamic()
                                 .attr("weight_decay", 0.0, "factor of the parameter that is added to the gradient")
                                 .dynamic()
                                 .attr("step", 1, "which step this is, from 1")
                                 .dynamic()
                                 .attr("maximize", false, "climb instead of descend")
                                 .dynamic()
                                 .infer(step_outputs)
                                 .out("param")
                                 .out("sum")
                                 .internal()
                                 .sbp(sbp::elementwise)
                                 .no_grad("an optimiser step is not differentiated")
                                 .no_onnx("training only");

}  // namespace hw

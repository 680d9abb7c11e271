// trigamma: the second derivative of the logarithm of gamma.
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("trigamma")
                                 .doc("Returns the derivative of digamma for each element.")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .internal()
                                 .flops(cost::special)
                                 .sbp(sbp::elementwise)
                                 .no_grad("polygamma of higher order is not there")
                                 .no_onnx("ONNX has no gamma function");

}  // namespace hw

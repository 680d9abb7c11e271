// heaviside: the step function.
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("heaviside")
        .doc("Returns 0 where input is negative, 1 where it is positive, and the element of values where it is 0.")
        .in("input", "any shape", real_types)
        .in("values", "what to return at 0; a shape that broadcasts with input", real_types)
        .promote()
        .out("y", dtype::promoted, shape::broadcast)
        .inplace()
        .sbp(sbp::elementwise)
        .no_grad("it is piecewise constant")
        .onnx("Where(Equal(x, 0), values, Where(Greater(x, 0), 1, 0))");

}  // namespace hw

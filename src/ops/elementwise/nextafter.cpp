// nextafter: the next floating-point number.
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("nextafter")
        .doc("Returns the number next to input in the direction of other, in the dtype of both.")
        .in("input", "any shape", floating)
        .in("other", "any shape that broadcasts with input", floating)
        .promote()
        .out("y", dtype::promoted, shape::broadcast)
        .inplace()
        .flops(cost::special)
        .sbp(sbp::elementwise)
        .no_grad("it is a step of one rounding error")
        .no_onnx("ONNX has no next number");

}  // namespace hw

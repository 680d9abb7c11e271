// gcd: the greatest common divisor.
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("gcd")
                                 .doc("Returns the greatest common divisor, not negative; gcd(0, 0) is 0.")
                                 .in("input", "any shape", integral)
                                 .in("other", "any shape that broadcasts with input", integral)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .flops(cost::special)
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is integer")
                                 .no_onnx("ONNX has no greatest common divisor");

}  // namespace hw

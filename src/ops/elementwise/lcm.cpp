// lcm: the least common multiple.
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("lcm")
                                 .doc("Returns the least common multiple, not negative; 0 if an element is 0.")
                                 .in("input", "any shape", integral)
                                 .in("other", "any shape that broadcasts with input", integral)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .flops(cost::special)
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is integer")
                                 .no_onnx("ONNX has no least common multiple");

}  // namespace hw

// gt: greater than.
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("gt")
        .doc("Returns True where the elements in input are greater. In place, 1 or 0 is written in the dtype of input.")
        .in("input", "any shape", real_types)
        .in("other", "any shape that broadcasts with input", real_types)
        .promote()
        .numbers(NumberRule::Compares)
        .out("y", dtype::boolean, shape::broadcast)
        .inplace()
        .autocast(Autocast::Widest)
        .sbp(sbp::elementwise)
        .no_grad("its output is bool")
        .onnx("Greater");

}  // namespace hw

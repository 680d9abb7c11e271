// ne: inequality.
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("ne")
        .doc("Returns True where the elements differ. In place, 1 or 0 is written in the dtype of input.")
        .in("input", "any shape", any_dtype)
        .in("other", "any shape that broadcasts with input", any_dtype)
        .promote()
        .numbers(NumberRule::Compares)
        .out("y", dtype::boolean, shape::broadcast)
        .inplace()
        .autocast(Autocast::Widest)
        .sbp(sbp::elementwise)
        .no_grad("its output is bool")
        .onnx("Not(Equal(x, y))");

}  // namespace hw

// eq: equality.
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("eq")
        .doc("Returns True where the elements are equal. In place, 1 or 0 is written in the dtype of input.")
        .example(">>> hw.eq(hw.tensor([1, 2]), hw.tensor([1, 3]))\ntensor([ True, False])")
        .in("input", "any shape", any_dtype)
        .in("other", "any shape that broadcasts with input", any_dtype)
        .promote()
        .numbers(NumberRule::Compares)
        .out("y", dtype::boolean, shape::broadcast)
        .inplace()
        .autocast(Autocast::Widest)
        .sbp(sbp::elementwise)
        .no_grad("its output is bool")
        .onnx("Equal");

}  // namespace hw

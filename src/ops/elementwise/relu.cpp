// relu: the larger of x and zero.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("relu")
                                 .doc("Returns max(x, 0); NaN stays.")
                                 .example(">>> hw.relu(hw.tensor([-1.0, 2.0]))\ntensor([0., 2.])")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("y",
                                       [](GradCtx& g) {
                                         static const Op relu_grad{"relu_grad"};
                                         g.dx(0, relu_grad({g.dy(), g.out()}));
                                       })
                                 .onnx("Relu");

}  // namespace hw

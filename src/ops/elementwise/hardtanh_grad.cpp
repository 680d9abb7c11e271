// hardtanh_grad: the gradient of hardtanh in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("hardtanh_grad")
        .doc("Returns grad_output where input lies between the bounds, else 0.")
        .in("grad_output", "gradient of the result", floating)
        .in("input", "the input of hardtanh", floating)
        .attr("min_val", Scalar(-1.0), "the lower bound")
        .attr("max_val", Scalar(1.0), "the upper bound")
        .promote()
        .out("y", dtype::promoted, shape::broadcast)
        .internal()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                static const Op hardtanh_grad{"hardtanh_grad"};
                g.dx(0, hardtanh_grad({g.dy(), g.in(1)}, {g.attr("min_val"), g.attr("max_val")}));
              })
        .no_onnx("only part of gradients");

}  // namespace hw

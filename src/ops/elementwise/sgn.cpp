// sgn: the sign, or the direction of a complex number.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("sgn")
                                 .doc("Returns the sign of real numbers and x / |x| of complex ones (0 at 0).")
                                 .in("input", "any shape", any_dtype)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         if (!is_complex(g.in_spec(0).dtype))
                                           return g.dx(0, zeros(g.in_spec(0).shape, g.in_spec(0).dtype));
                                         // y = x / |x|: what of the gradient points along y is lost, the rest is divided by |x|.
                                         static const Op sgn{"sgn"};
                                         Tensor size = abs(g.in(0)), y = sgn({g.in(0)});
                                         Tensor along = real(g.dy() * conj(y));
                                         g.dx(0, where(eq(size, number(0)), number(0), (g.dy() - y * along) / size));
                                       })
                                 .no_onnx("ONNX has no complex sign");

}  // namespace hw

// gelu: x times the normal distribution function.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// Refuses other words before a kernel is looked for.
static DType gelu_dtype(const InferCtx& c) {
  const std::string& how = c.attr("approximate").text();
  check(how == "none" || how == "tanh", "approximate must be 'none' or 'tanh', got '", how, "'");
  return c.compute;
}

static const RegisterOp op = OpDef("gelu")
                                 .doc(
                                     "Returns x * Phi(x), Phi being the normal distribution function; with "
                                     "approximate=\"tanh\" x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).")
                                 .in("input", "any shape", floating)
                                 .attr("approximate", "none", "\"none\" or \"tanh\"")
                                 .promote(Promote::Floating)
                                 .out("y", gelu_dtype, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op gelu_grad{"gelu_grad"};
                                         g.dx(0, gelu_grad({g.dy(), g.in(0)}, {g.attr("approximate")}));
                                       })
                                 .onnx("Gelu");

}  // namespace hw

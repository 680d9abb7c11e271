// imag: the imaginary part.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("imag")
                                 .doc("Returns the imaginary part of each element.")
                                 .in("input", "any shape", complex_types)
                                 .promote()
                                 .method(false)  // an attribute of tensors
                                 .out("y", dtype::real, shape::same)
                                 .sbp(sbp::elementwise)
                                 .grad("", [](GradCtx& g) { g.dx(0, g.dy() * Scalar(std::complex<double>(0, 1))); })
                                 .no_onnx("ONNX operators take no complex numbers");

}  // namespace hw

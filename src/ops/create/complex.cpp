// complex: real and imaginary parts put together.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static DType dtype_of(const InferCtx& c) {
  check_runtime(c.in[0].dtype == c.in[1].dtype, "real is ", c.in[0].dtype, ", imag ", c.in[1].dtype,
                "; they must be alike");
  return complex_dtype(c.in[0].dtype);
}

static const RegisterOp op = OpDef("complex")
                                 .doc("Returns complex numbers with the given real and imaginary parts.")
                                 .in("real", "broadcasts with imag", dtype_bit(DType::F32) | dtype_bit(DType::F64))
                                 .in("imag", "broadcasts with real", dtype_bit(DType::F32) | dtype_bit(DType::F64))
                                 .out("y", dtype_of, shape::broadcast)
                                 .method(false)
                                 .flops(cost::bandwidth_bound)
                                 .sbp(sbp::elementwise)
                                 .grad("",
                                       [](GradCtx& g) {
                                         static const Op real{"real"}, imag{"imag"};
                                         if (g.needs(0)) g.dx(0, real({g.dy()}));
                                         if (g.needs(1)) g.dx(1, imag({g.dy()}));
                                       })
                                 .no_onnx("ONNX has no complex operators");

}  // namespace hw

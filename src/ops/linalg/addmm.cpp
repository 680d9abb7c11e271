// addmm: a matrix product added to a matrix.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/linalg/products.h"

namespace hw {

static const Op mm_op{"mm"};

static Dims addmm_shape(const InferCtx& c) {
  Dims out = product_shape(c, 1, 2, 2);
  check_runtime(c.in[0].ndim() <= 2 && broadcast_shapes(c.in[0].shape, out) == out, "input ", c.in[0].shape,
                " does not broadcast to the product's shape ", out);
  return out;
}

static const RegisterOp op =
    OpDef("addmm")
        .doc("Returns beta * input + alpha * (mat1 @ mat2). With beta = 0 the input is not read, not even its NaNs.")
        .in("input", "a shape that broadcasts to [m, n]", numeric)
        .in("mat1", "[m, k]", numeric)
        .in("mat2", "[k, n]", numeric)
        .attr("beta", Scalar(1), "factor of input")
        .keyword()
        .attr("alpha", Scalar(1), "factor of the product")
        .out("y", product_dtype, addmm_shape)
        .autocast(Autocast::Lower)
        .sbp([](SbpCtx& c) { sbp::product(c, 3, 1, false); })
        .flops([](const InferCtx& c) {
          return 2.0 * static_cast<double>(c.in[1].numel()) * static_cast<double>(c.in[2].shape[1]);
        })
        .grad("mat1:mat2 mat2:mat1",
              [](GradCtx& g) {
                const Scalar &beta = g.attr("beta").scalar(), &alpha = g.attr("alpha").scalar();
                if (g.needs(0)) g.dx(0, scaled(g.dy(), beta));
                if (g.needs(1)) g.dx(1, scaled(mm_op({g.dy(), adjoint(g.in(2))}), alpha));
                if (g.needs(2)) g.dx(2, scaled(mm_op({adjoint(g.in(1)), g.dy()}), alpha));
              })
        .onnx("Gemm(mat1, mat2, input, alpha=alpha, beta=beta)");

}  // namespace hw

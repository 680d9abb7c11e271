// baddbmm: a batch of matrix products added to a batch of matrices.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/linalg/products.h"

namespace hw {

static const Op bmm_op{"bmm"};

static Dims baddbmm_shape(const InferCtx& c) {
  Dims out = product_shape(c, 1, 2, 3);
  check_runtime(c.in[0].ndim() <= 3 && broadcast_shapes(c.in[0].shape, out) == out, "input ", c.in[0].shape,
                " does not broadcast to the products' shape ", out);
  return out;
}

static const RegisterOp op =
    OpDef("baddbmm")
        .doc("Returns beta * input + alpha * bmm(batch1, batch2). With beta = 0 the input is not read.")
        .in("input", "a shape that broadcasts to [b, m, n]", numeric)
        .in("batch1", "[b, m, k]", numeric)
        .in("batch2", "[b, k, n]", numeric)
        .attr("beta", Scalar(1), "factor of input")
        .keyword()
        .attr("alpha", Scalar(1), "factor of the products")
        .out("y", product_dtype, baddbmm_shape)
        .autocast(Autocast::Lower)
        .sbp([](SbpCtx& c) { sbp::product(c, 3, 1, true); })
        .flops([](const InferCtx& c) {
          return 2.0 * static_cast<double>(c.in[1].numel()) * static_cast<double>(c.in[2].shape[2]);
        })
        .grad("batch1:batch2 batch2:batch1",
              [](GradCtx& g) {
                const Scalar &beta = g.attr("beta").scalar(), &alpha = g.attr("alpha").scalar();
                if (g.needs(0)) g.dx(0, scaled(g.dy(), beta));
                if (g.needs(1)) g.dx(1, scaled(bmm_op({g.dy(), adjoint(g.in(2))}), alpha));
                if (g.needs(2)) g.dx(2, scaled(bmm_op({adjoint(g.in(1)), g.dy()}), alpha));
              })
        .onnx("Add(Mul(input, beta), Mul(MatMul(batch1, batch2), alpha))");

}  // namespace hw

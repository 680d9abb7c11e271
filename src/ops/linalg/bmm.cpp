// bmm: products of two batches of matrices.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/linalg/products.h"

namespace hw {

static const Op bmm_op{"bmm"};

static const RegisterOp op =
    OpDef("bmm")
        .doc("Returns the matrix products of two batches of the same size, [b, m, k] and [b, k, n].")
        .in("input", "[b, m, k]", numeric)
        .in("mat2", "[b, k, n]", numeric)
        .out("y", product_dtype, [](const InferCtx& c) { return product_shape(c, 0, 1, 3); })
        .autocast(Autocast::Lower)
        .sbp([](SbpCtx& c) { sbp::product(c, 2, 0, true); })
        .flops([](const InferCtx& c) {
          return 2.0 * static_cast<double>(c.in[0].numel()) * static_cast<double>(c.in[1].shape[2]);
        })
        .grad("input:mat2 mat2:input",
              [](GradCtx& g) {
                if (g.needs(0)) g.dx(0, bmm_op({g.dy(), adjoint(g.in(1))}));
                if (g.needs(1)) g.dx(1, bmm_op({adjoint(g.in(0)), g.dy()}));
              })
        .onnx("MatMul");

}  // namespace hw

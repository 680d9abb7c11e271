// mm: the product of two matrices.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/linalg/products.h"

namespace hw {

static const Op mm_op{"mm"};

static const RegisterOp op =
    OpDef("mm")
        .doc("Returns the matrix product of two matrices, [m, k] and [k, n]. It does not broadcast: see matmul.")
        .example(">>> hw.mm(hw.tensor([[1., 2.]]), hw.tensor([[3.], [4.]]))\ntensor([[11.]])")
        .in("input", "[m, k]", numeric)
        .in("mat2", "[k, n]", numeric)
        .out("y", product_dtype, [](const InferCtx& c) { return product_shape(c, 0, 1, 2); })
        .autocast(Autocast::Lower)
        .sbp([](SbpCtx& c) { sbp::product(c, 2, 0, false); })
        .flops([](const InferCtx& c) {
          return 2.0 * static_cast<double>(c.in[0].numel()) * static_cast<double>(c.in[1].shape[1]);
        })
        .grad("input:mat2 mat2:input",
              [](GradCtx& g) {
                if (g.needs(0)) g.dx(0, mm_op({g.dy(), adjoint(g.in(1))}));
                if (g.needs(1)) g.dx(1, mm_op({adjoint(g.in(0)), g.dy()}));
              })
        .onnx("MatMul");

}  // namespace hw

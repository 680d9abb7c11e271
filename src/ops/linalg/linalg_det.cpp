// linalg_det: determinants.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/linalg/square.h"

namespace hw {

static Dims without_matrix(const InferCtx& c) {
  check_square(c.in[0]);
  Dims y = c.in[0].shape;
  y.resize(y.size() - 2);
  return y;
}

static const RegisterOp op =
    OpDef("linalg_det")
        .doc("Returns the determinants of square matrices. The gradient exists where they are not 0.")
        .example(">>> hw.linalg_det(hw.tensor([[1.0, 2.0], [3.0, 4.0]]))\ntensor(-2.0000)")
        .in("A", "[..., n, n]", floating)
        .out("y", dtype::same, without_matrix)
        .method(false)
        .autocast(Autocast::F32)
        .sbp(split_batches)
        .flops([](const InferCtx& c) {
          return static_cast<double>(c.in[0].numel()) * static_cast<double>(c.in[0].shape.back()) * 2 / 3;
        })
        .grad("A y",
              [](GradCtx& g) {
                static const Op inv{"linalg_inv"};
                g.dx(0, unsqueeze(unsqueeze(g.dy() * g.out(), -1), -1) * mT(inv({g.in(0)})));
              })
        .onnx("Det");

}  // namespace hw

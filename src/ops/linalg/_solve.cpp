// _solve: systems of linear equations, batch by batch.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/linalg/square.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_square(c.in[0]);
  const Dims &a = c.in[0].shape, &b = c.in[1].shape;
  bool fits = a.size() == b.size();
  for (size_t i = 0; fits && i + 1 < a.size(); ++i) fits = a[i] == b[i];
  check_runtime(fits, "B must have the axes of A but the last, got ", c.in[0], " and ", c.in[1]);
  check_runtime(c.in[0].dtype == c.in[1].dtype, "A and B must have one dtype, got ", c.in[0], " and ", c.in[1]);
  return b;
}

static const RegisterOp op =
    OpDef("_solve")
        .doc("Returns y with A y = B, by LU factorisation with partial pivoting; RuntimeError where A is singular.")
        .in("A", "[..., n, n]", floating)
        .in("B", "[..., n, k], the same axes before", floating)
        .out("y", dtype::same, shape_of)
        .internal()
        .autocast(Autocast::F32)
        .sbp(split_batches)
        .flops([](const InferCtx& c) {
          const double n = static_cast<double>(c.in[0].shape.back());
          return static_cast<double>(c.in[0].numel()) * n * 2 / 3 + 2 * n * static_cast<double>(c.in[1].numel());
        })
        .grad("A y",
              [](GradCtx& g) {
                static const Op solve{"_solve"};
                const Tensor d = solve({mT(g.in(0)), g.dy()});
                if (g.needs(0)) g.dx(0, -matmul(d, mT(g.out())));
                g.dx(1, d);
              })
        .no_onnx("ONNX has no solver");

}  // namespace hw

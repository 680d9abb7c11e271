// _bmm_batches: bmm with several batch axes, for global tensors of which another than the first is split.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/linalg/products.h"

namespace hw {

static const Op product_op{"_bmm_batches"};

static Dims shape_of(const InferCtx& c) {
  const TensorSpec &a = c.in[0], &b = c.in[1];
  check_runtime(a.ndim() >= 3 && a.ndim() == b.ndim(), "input and mat2 must have the same three axes or more, got ",
                a.shape, " and ", b.shape);
  const auto last = static_cast<size_t>(a.ndim() - 1);
  for (size_t axis = 0; axis + 1 < last; ++axis)
    check_runtime(a.shape[axis] == b.shape[axis], "batch sizes differ: ", a.shape, " and ", b.shape);
  check_runtime(a.shape[last] == b.shape[last - 1], "inner sizes differ: input has ", a.shape[last],
                " columns, mat2 has ", b.shape[last - 1], " rows");
  Dims out = a.shape;
  out.back() = b.shape.back();
  return out;
}

static void signatures(SbpCtx& c) {
  const int64_t rows = c.in()[0].ndim() - 2;
  for (int64_t axis = 0; axis < rows; ++axis) c.add({split(axis), split(axis)}, {split(axis)});
  c.add({split(rows), broadcast()}, {split(rows)});
  c.add({broadcast(), split(rows + 1)}, {split(rows + 1)});
  c.add({split(rows + 1), split(rows)}, {partial_sum()});
  c.add({partial_sum(), broadcast()}, {partial_sum()});
  c.add({broadcast(), partial_sum()}, {partial_sum()});
}

static const RegisterOp op =
    OpDef("_bmm_batches")
        .doc("Returns the matrix products of [..., m, k] and [..., k, n], whose batch axes are the same.")
        .in("input", "[..., m, k]", numeric)
        .in("mat2", "[..., k, n]", numeric)
        .out("y", product_dtype, shape_of)
        .internal()
        .autocast(Autocast::Lower)
        .sbp(signatures)
        .flops([](const InferCtx& c) {
          return 2.0 * static_cast<double>(c.in[0].numel()) * static_cast<double>(c.in[1].shape.back());
        })
        .grad("input:mat2 mat2:input",
              [](GradCtx& g) {
                if (g.needs(0)) g.dx(0, product_op({g.dy(), adjoint(g.in(1))}));
                if (g.needs(1)) g.dx(1, product_op({adjoint(g.in(0)), g.dy()}));
              })
        .onnx("MatMul");

}  // namespace hw

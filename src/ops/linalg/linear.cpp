// linear: x W^T + b over the last axis.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/linalg/products.h"

namespace hw {

static const Op linear_op{"linear"}, mm_op{"mm"};

static Dims linear_shape(const InferCtx& c) {
  const TensorSpec &x = c.in[0], &w = c.in[1], &b = c.in[2];
  check_runtime(x.ndim() >= 1, "input must have at least one axis; use unsqueeze()");
  check_runtime(w.ndim() == 2, "weight must have 2 axes [out_features, in_features], got ", w.shape);
  check_runtime(x.shape.back() == w.shape[1], "input has ", x.shape.back(), " features, weight takes ", w.shape[1],
                ". weight is [out_features, in_features].");
  check_runtime(!b.given() || (b.ndim() == 1 && b.shape[0] == w.shape[0]), "bias ", b.shape,
                " does not fit a weight with ", w.shape[0], " rows");
  Dims out = x.shape;
  out.back() = w.shape[0];
  return out;
}

static void linear_sbp(SbpCtx& c) {
  int64_t last = c.in()[0].ndim() - 1;
  bool bias = c.in()[2].given();
  for (int64_t axis = 0; axis < last; ++axis) c.add({split(axis), broadcast(), broadcast()}, {split(axis)});
  c.add({broadcast(), split(0), bias ? split(0) : broadcast()}, {split(last)});
  const Sbp added = bias ? partial_sum() : broadcast();  // once in the sum
  c.add({split(last), split(1), added}, {partial_sum()});
  c.add({partial_sum(), broadcast(), added}, {partial_sum()});
  c.add({broadcast(), partial_sum(), added}, {partial_sum()});
}

static void linear_grad(GradCtx& g) {
  int64_t rows = g.in_spec(1).shape[0], columns = g.in_spec(1).shape[1];
  Tensor dy = g.dy();
  if (g.needs(0)) g.dx(0, linear_op({dy, adjoint(g.in(1)), Tensor()}));
  if (!g.needs(1) && !g.needs(2)) return;
  int64_t count = 1;
  for (size_t axis = 0; axis + 1 < dy.shape().size(); ++axis) count *= dy.shape()[axis];
  Tensor flat = reshape(dy, {count, rows});
  if (g.needs(1)) g.dx(1, mm_op({mT(flat), conj(reshape(g.in(0), {count, columns}))}));
  if (g.needs(2)) g.dx(2, sum(flat, {0}));
}

static const RegisterOp op =
    OpDef("linear")
        .doc("Returns input @ weight.T + bias over the last axis.")
        .example(">>> hw.linear(hw.tensor([1., 2.]), hw.tensor([[3., 4.]]), hw.tensor([5.]))\ntensor([16.])")
        .in("input", "[..., in_features]", numeric)
        .in("weight", "[out_features, in_features]", numeric)
        .in_optional("bias", "[out_features]", numeric)
        .out("y", product_dtype, linear_shape)
        .method(false)
        .autocast(Autocast::Lower)
        .sbp(linear_sbp)
        .flops([](const InferCtx& c) {
          return 2.0 * static_cast<double>(c.in[0].numel()) * static_cast<double>(c.in[1].shape[0]);
        })
        .grad("input:weight weight:input", linear_grad)
        .onnx("Add(MatMul(input, Transpose(weight)), bias)");

}  // namespace hw

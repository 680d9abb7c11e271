// _cross_entropy_grad: dy (softmax(x) - s / C - (1 - s) [k = t]), the gradient of _cross_entropy.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "op/split_form.h"

namespace hw {

static void split_rows(SbpCtx& c) {
  int64_t ndim = c.in()[0].ndim(), classes = ndim == 1 ? 0 : 1;
  for (int64_t axis = 0; axis < ndim; ++axis) {
    if (axis == classes) continue;
    Sbp row = split(axis > classes ? axis - 1 : axis);
    c.add({split(axis), row, row, row}, {split(axis)});
  }
}

/// Of scores that are split by classes each rank has the gradient of its own.
static Tensors by_classes(std::span<const Tensor> in, const Attrs& attrs, std::span<const Placement* const> places) {
  static const Op class_sums_grad{"_class_sums_grad"};
  const Tensor &x = in[0], &lse = in[2];
  const int64_t axis = x.ndim() == 1 ? 0 : 1, classes = x.size(axis);
  if (!splits(places[0], axis)) return {};
  const double smoothing = attrs[1].f64();
  const Tensor dy = in[3] * to(ne(in[1], number(attrs[0].scalar())), in[3].dtype());
  Tensor dx = class_sums_grad({x, in[1], lse, dy, dy * Scalar(smoothing - 1)}, {1.0, 0.0, 0.0, 1.0, attrs[0], classes});
  if (smoothing > 0) dx = dx - unsqueeze(to(dy, x.dtype()) * Scalar(smoothing / static_cast<double>(classes)), axis);
  return {dx};
}

static const RegisterSplitForm split_form{"_cross_entropy_grad", &by_classes};

static const RegisterOp op =
    OpDef("_cross_entropy_grad")
        .doc("The gradient of _cross_entropy with respect to the scores.")
        .in("input", "scores [N, C, ...] or [C]", floating)
        .in("target", "classes [N, ...] or []", integral)
        .in("lse", "as _cross_entropy returns it", floating)
        .in("dy", "gradient of the loss, as lse", floating)
        .attr("ignore_index", int64_t{-100}, "rows of this class count nothing")
        .attr("label_smoothing", 0.0, "share of the uniform distribution")
        .out("dx", dtype::same, shape::same)
        .internal()
        .flops(cost::per_input<10>)
        .sbp(split_rows)
        .grad("input target dy",
              [](GradCtx& g) {
                // dx is linear in dy; through x it moves as softmax does (lse is a function of x, so it gets none).
                static const Op softmax{"softmax"}, one_row{"_cross_entropy_grad"}, softmax_grad{"_softmax_grad"};
                const int64_t axis = g.in_spec(0).ndim() == 1 ? 0 : 1;
                Tensor p = softmax({g.in(0)}, {axis});
                Tensor counts = to(ne(g.in(1), number(g.attr("ignore_index").scalar())), g.in(3).dtype());
                if (g.needs(3)) {
                  static const Op logsumexp{"logsumexp"};
                  Tensor unit =
                      one_row({g.in(0), g.in(1), to(logsumexp({g.in(0)}, {Dims{axis}}), g.in(3).dtype()), counts},
                              {g.attr("ignore_index"), g.attr("label_smoothing")});
                  g.dx(3, sum(g.dy() * unit, {axis}));
                }
                if (g.needs(0)) g.dx(0, softmax_grad({g.dy() * unsqueeze(g.in(3) * counts, axis), p}, {axis}));
              })
        .no_onnx("a gradient");

}  // namespace hw

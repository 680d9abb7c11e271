// _cross_entropy: the loss of each row of scores, and the logarithm of its sum of exponentials.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "op/split_form.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  const TensorSpec &x = c.in[0], &t = c.in[1];
  check_runtime(x.ndim() >= 1, "input must have an axis of classes");
  size_t axis = x.ndim() == 1 ? 0 : 1;
  Dims rows = x.shape;
  rows.erase(axis);
  check_runtime(t.shape == rows, "target must have shape ", rows, " (that of input without the classes), got ",
                t.shape);
  check_runtime(x.shape[axis] > 0, "there are no classes");
  TensorSpec loss, lse;
  loss.shape = lse.shape = rows;
  loss.dtype = x.dtype;
  lse.dtype = is_reduced(x.dtype) ? DType::F32 : x.dtype;
  return {loss, lse};
}

/// Every axis but that of the classes may be split.
static void split_rows(SbpCtx& c) {
  int64_t ndim = c.in()[0].ndim(), classes = ndim == 1 ? 0 : 1;
  for (int64_t axis = 0; axis < ndim; ++axis) {
    if (axis == classes) continue;
    Sbp row = split(axis > classes ? axis - 1 : axis);
    c.add({split(axis), row}, {row, row});
  }
}

/// Scores split by classes stay where they are: their maximum, the sum of exponentials and the target's score are joined.
static Tensors by_classes(std::span<const Tensor> in, const Attrs& attrs, std::span<const Placement* const> places) {
  static const Op class_max{"_class_max"}, class_sums{"_class_sums"};
  const Tensor& x = in[0];
  const int64_t axis = x.ndim() == 1 ? 0 : 1, classes = x.size(axis);
  if (!splits(places[0], axis)) return {};
  const double smoothing = attrs[1].f64();
  const Tensor top = clone(class_max({x, in[1]}, {1.0, 0.0, 0.0, 1.0, attrs[0], classes}));
  const Tensors sums = class_sums.all({x, in[1], top}, {1.0, 0.0, 0.0, 1.0, attrs[0], classes});
  const Tensor lse = log(sums[0]) + top;
  Tensor loss = lse - sums[1] * Scalar(1 - smoothing);
  if (smoothing > 0) loss = loss - sum(to(x, lse.dtype()), {axis}) * Scalar(smoothing / static_cast<double>(classes));
  return {to(where(ne(in[1], number(attrs[0].scalar())), loss, zeros({}, lse.dtype())), x.dtype()), lse};
}

static const RegisterSplitForm split_form{"_cross_entropy", &by_classes};

static const RegisterOp op = OpDef("_cross_entropy")
                                 .doc(
                                     "Cross-entropy of each row of scores against a class index: lse(x) - (1 - s) x[t] "
                                     "- s mean(x), 0 where t is "
                                     "ignore_index; s is the label smoothing. Also returns lse.")
                                 .in("input", "scores [N, C, ...] or [C]", floating)
                                 .in("target", "classes [N, ...] or []", integral)
                                 .attr("ignore_index", int64_t{-100}, "rows of this class count nothing")
                                 .attr("label_smoothing", 0.0, "share of the uniform distribution")
                                 .out("loss")
                                 .out("lse")
                                 .infer(infer)
                                 .internal()
                                 .autocast(Autocast::F32)
                                 .flops(cost::per_input<10>)
                                 .sbp(split_rows)
                                 .grad("input target lse",
                                       [](GradCtx& g) {
                                         static const Op grad{"_cross_entropy_grad"}, softmax{"softmax"};
                                         const int64_t axis = g.in_spec(0).ndim() == 1 ? 0 : 1;
                                         Tensor dx;
                                         if (g.has_dy(0))
                                           dx = grad({g.in(0), g.in(1), g.out(1), to(g.dy(0), g.out_spec(1).dtype)},
                                                     {g.attr("ignore_index"), g.attr("label_smoothing")});
                                         if (g.has_dy(1)) {
                                           Tensor through = softmax({g.in(0)}, {axis}) * unsqueeze(g.dy(1), axis);
                                           dx = dx.defined() ? dx + through : through;
                                         }
                                         g.dx(0, dx);
                                       })
                                 .onnx("SoftmaxCrossEntropyLoss");

}  // namespace hw

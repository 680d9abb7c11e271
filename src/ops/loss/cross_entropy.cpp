// cross_entropy: scores against classes, or against class probabilities.
#include "base/error.h"
#include "op/math.h"
#include "ops/loss/reduction.h"

namespace hw {

/// Class weights of each target; 0 where it is ignored.
static Tensor target_weights(const Tensor& weight, const Tensor& target, int64_t ignore_index) {
  static const Op index_select{"index_select"};
  Tensor counts = ne(target, number(ignore_index));
  Tensor safe = where(counts, target, number(0));
  Tensor picked = reshape(index_select({weight, reshape(safe, {-1})}, {int64_t{0}}), target.shape());
  return picked * to(counts, picked.dtype());
}

static Tensor with_classes(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                           double smoothing, const std::string& reduction) {
  static const Op fused{"_cross_entropy"}, log_softmax{"log_softmax"}, nll{"nll_loss"};
  const int64_t axis = x.ndim() == 1 ? 0 : 1;
  if (!weight.defined()) {
    Tensor loss = fused.all({x, target}, {ignore_index, smoothing})[0];
    if (reduction != "mean") return reduced_loss(loss, reduction);
    Tensor counts = to(ne(target, number(ignore_index)), loss.dtype());
    return sum(loss) / sum(counts);
  }
  Tensor logs = log_softmax({x}, {axis});
  Tensor loss = nll({logs, target, weight}, {ignore_index, reduction});
  if (smoothing == 0) return loss;
  Dims by_class(static_cast<size_t>(x.ndim()), 1);
  by_class[static_cast<size_t>(axis)] = -1;
  Tensor counts = to(ne(target, number(ignore_index)), logs.dtype());
  Tensor smooth = -(sum(logs * reshape(weight, by_class), {axis}) * counts);
  const int64_t classes = x.shape()[static_cast<size_t>(axis)];
  if (reduction == "mean")
    smooth = sum(smooth) / sum(target_weights(weight, target, ignore_index));
  else
    smooth = reduced_loss(smooth, reduction);
  return loss * Scalar(1 - smoothing) + smooth * Scalar(smoothing / static_cast<double>(classes));
}

static Tensor with_probabilities(const Tensor& x, Tensor target, const Tensor& weight, double smoothing,
                                 const std::string& reduction) {
  static const Op log_softmax{"log_softmax"};
  const int64_t axis = x.ndim() == 1 ? 0 : 1;
  check_runtime(target.shape() == x.shape(), "class probabilities must have the shape of input, ", x.shape(), ", got ",
                target.shape());
  const double classes = static_cast<double>(x.shape()[static_cast<size_t>(axis)]);
  if (smoothing > 0) target = target * Scalar(1 - smoothing) + Scalar(smoothing / classes);
  Tensor terms = log_softmax({x}, {axis}) * target;
  if (weight.defined()) {
    Dims by_class(static_cast<size_t>(x.ndim()), 1);
    by_class[static_cast<size_t>(axis)] = -1;
    terms = terms * reshape(weight, by_class);
  }
  Tensor loss = -sum(terms, {axis});
  return reduced_loss(loss, reduction);
}

static const RegisterOp op =
    OpDef("cross_entropy")
        .doc(
            "Returns the cross-entropy of softmax(input) along the classes (axis 1, or 0 of a vector) against target: "
            "class "
            "indices, or class probabilities of the shape of input. 'mean' divides by the number (or weight) of "
            "targets that "
            "count.")
        .example(">>> hw.cross_entropy(hw.tensor([[0.0, 0.0]]), hw.tensor([1]))\ntensor(0.6931)")
        .in("input", "scores [N, C, ...] or [C]", floating)
        .in("target", "classes [N, ...] or probabilities as input", integral | floating)
        .in_optional("weight", "a factor for each class, [C]", floating)
        .attr("ignore_index", int64_t{-100}, "targets of this class count nothing")
        .attr("reduction", "mean", "'mean', 'sum' or 'none'")
        .attr("label_smoothing", 0.0, "share of the uniform distribution, in [0, 1]")
        .out("loss")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const std::string& reduction = attrs[1].text();
          const double smoothing = attrs[2].f64();
          check_reduction(reduction);
          check(smoothing >= 0 && smoothing <= 1, "label_smoothing must be in [0, 1], got ", smoothing);
          check_runtime(in[0].ndim() >= 1, "input must have an axis of classes");
          const int64_t classes = in[0].shape()[in[0].ndim() == 1 ? 0 : 1];
          check_runtime(!in[2].defined() || in[2].shape() == Dims{classes}, "weight must have shape [", classes,
                        "], got ", in[2].defined() ? in[2].shape() : Dims{});
          if (is_floating(in[1].dtype())) return {with_probabilities(in[0], in[1], in[2], smoothing, reduction)};
          return {with_classes(in[0], in[1], in[2], attrs[0].i64(), smoothing, reduction)};
        });

}  // namespace hw

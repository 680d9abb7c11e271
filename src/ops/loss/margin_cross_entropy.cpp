// margin_cross_entropy: cross-entropy of cosines with a margin for the target's angle.
#include "op/math.h"
#include "ops/loss/class_scores.h"
#include "ops/loss/reduction.h"

namespace hw {

static const RegisterOp op =
    OpDef("margin_cross_entropy")
        .doc(
            "Returns the cross-entropy of softmax(z) against class indices, where z = scale * input, except that of "
            "the "
            "target, z = scale * (cos(margin1 * acos(input) + margin2) - margin3). SphereFace has margin1 > 1 (Liu et "
            "al., CVPR 2017), ArcFace margin2 = 0.5, CosFace margin3 = 0.35 (Wang et al., CVPR 2018); the combination "
            "is "
            "that of Deng et al., \"ArcFace: Additive angular margin loss for deep face recognition\", CVPR 2019. A "
            "tensor split by classes stays so: only the maximum, the sum and the target's score of each row are "
            "exchanged. No second derivative.")
        .example(
            ">>> hw.margin_cross_entropy(hw.tensor([[0.5, 0.5]]), hw.tensor([1]), margin2=0.0, "
            "scale=1.0)\ntensor(0.6931)")
        .in("input", "cosines [N, C, ...] or [C]", floating)
        .in("target", "classes [N, ...] or []", integral)
        .attr("margin1", 1.0, "factor of the target's angle")
        .attr("margin2", 0.5, "added to the target's angle")
        .attr("margin3", 0.0, "taken from the target's cosine")
        .attr("scale", 64.0, "factor of all cosines")
        .attr("reduction", "mean", "'mean', 'sum' or 'none'")
        .attr("ignore_index", int64_t{-100}, "targets of this class count nothing")
        .out("loss")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op class_max{"_class_max"}, class_sums{"_class_sums"};
          const std::string& reduction = attrs[4].text();
          check_reduction(reduction);
          check_runtime(in[0].ndim() >= 1, "input must have an axis of classes");
          const int64_t classes = in[0].shape()[static_cast<size_t>(class_axis(in[0].spec()))];
          check_runtime(classes > 0, "there are no classes");
          const Attrs given{attrs[0], attrs[1], attrs[2], attrs[3], attrs[5], classes, int64_t{0}};
          const Tensor top = clone(interpreter().call(class_max.def(), in, given)[0]);  // on all ranks
          const Tensor rows[3] = {in[0], in[1], top};
          const Tensors sums = interpreter().call(class_sums.def(), rows, given);
          const Tensor counts = ne(in[1], number(attrs[5].scalar()));
          Tensor loss = where(counts, log(sums[0]) + top - sums[1], zeros({}, sums[0].dtype()));
          if (reduction != "mean") return {reduced_loss(loss, reduction)};
          return {sum(loss) / sum(to(counts, loss.dtype()))};
        });

}  // namespace hw

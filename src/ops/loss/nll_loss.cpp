// nll_loss: minus the log-probability of the target class.
#include "base/error.h"
#include "op/math.h"
#include "ops/loss/reduction.h"

namespace hw {

static const RegisterOp op =
    OpDef("nll_loss")
        .doc(
            "Returns minus the log-probability of the target class, times its weight. 'mean' divides by the weight of "
            "the "
            "targets that count.")
        .in("input", "log-probabilities [N, C, ...] or [C]", floating)
        .in("target", "classes [N, ...] or []", integral)
        .in_optional("weight", "a factor for each class, [C]", floating)
        .attr("ignore_index", int64_t{-100}, "targets of this class count nothing")
        .attr("reduction", "mean", "'mean', 'sum' or 'none'")
        .out("loss")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op gather{"gather"}, index_select{"index_select"};
          const Tensor &x = in[0], &weight = in[2];
          const std::string& reduction = attrs[1].text();
          check_reduction(reduction);
          check_runtime(x.ndim() >= 1, "input must have an axis of classes");
          const int64_t axis = x.ndim() == 1 ? 0 : 1;
          Dims rows = x.shape();
          rows.erase(static_cast<size_t>(axis));
          check_runtime(in[1].shape() == rows, "target must have shape ", rows,
                        " (that of input without the classes), got ", in[1].shape());
          const int64_t classes = x.shape()[static_cast<size_t>(axis)];
          check_runtime(!weight.defined() || weight.shape() == Dims{classes}, "weight must have shape [", classes, "]");
          Tensor target = to(in[1], DType::I64);
          Tensor counts = ne(target, number(attrs[0].i64()));
          Tensor safe = where(counts, target, number(0));
          Tensor factor = to(counts, x.dtype());
          if (weight.defined())
            factor = factor * reshape(index_select({weight, reshape(safe, {-1})}, {int64_t{0}}), rows);
          Tensor picked = squeeze(gather({x, unsqueeze(safe, axis)}, {axis}), axis);
          Tensor loss = -(where(counts, picked, number(0)) * factor);
          if (reduction == "mean") return {sum(loss) / sum(factor)};
          return {reduced_loss(loss, reduction)};
        });

}  // namespace hw

// _class_max: the greatest score of each row, that of the target with its margin.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "ops/loss/class_scores.h"

namespace hw {

static const RegisterSplitForm rank_attrs{"_class_max", &set_first_class};

static const RegisterOp op =
    class_attributes(OpDef("_class_max")
                         .doc("The greatest of the scores z of each row: z = scale x, but for the target scale "
                              "(cos(margin1 acos(x) + margin2) - margin3).")
                         .in("input", "scores [N, C, ...] or [C]", floating)
                         .in("target", "classes [N, ...] or []", integral))
        .out("top")
        .infer([](const InferCtx& c) -> std::vector<TensorSpec> { return {class_row(c)}; })
        .internal()
        .autocast(Autocast::F32)
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) { split_classes(c, partial_max()); })
        .grad("", [](GradCtx&) {})  // a shift, of which the losses that use it do not depend
        .no_onnx("part of margin_cross_entropy");

}  // namespace hw

// _class_sums_grad: the gradient of _class_sums with respect to the scores.
#include "op/cost.h"
#include "ops/loss/class_scores.h"

namespace hw {

static const RegisterSplitForm rank_attrs{"_class_sums_grad", &set_first_class};

static const RegisterOp op =
    class_attributes(OpDef("_class_sums_grad")
                         .doc("dz/dx (dsum exp(z - shift) + dscore [k = target]); z as in _class_max.")
                         .in("input", "scores [N, C, ...] or [C]", floating)
                         .in("target", "classes [N, ...] or []", integral)
                         .in("shift", "as in _class_sums", floating)
                         .in("dsum", "gradient of the sum", floating)
                         .in("dscore", "gradient of the target's score", floating))
        .out("dx", dtype::same,
             [](const InferCtx& c) {
               class_row(c);
               return c.in[0].shape;
             })
        .internal()
        .flops(cost::per_input<10>)
        .sbp([](SbpCtx& c) { split_classes(c, split(class_axis(c.in()[0]))); })
        .no_grad("no second derivative")
        .no_onnx("a gradient");

}  // namespace hw

// _class_sums: the sum of exponentials of each row of scores, and the score of its target.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "ops/loss/class_scores.h"

namespace hw {

static const RegisterSplitForm rank_attrs{"_class_sums", &set_first_class};

static const RegisterOp op =
    class_attributes(
        OpDef("_class_sums")
            .doc("sum(exp(z - shift)) over the classes, and z of the target, 0 where it is not among them; "
                 "z as in _class_max.")
            .in("input", "scores [N, C, ...] or [C]", floating)
            .in("target", "classes [N, ...] or []", integral)
            .in("shift", "at least the greatest z of the row", floating))
        .out("sum")
        .out("score")
        .infer([](const InferCtx& c) -> std::vector<TensorSpec> {
          return {class_row(c), class_row(c)};
        })
        .internal()
        .autocast(Autocast::F32)
        .flops(cost::per_input<10>)
        .sbp([](SbpCtx& c) { split_classes(c, partial_sum()); })
        .grad("input target shift",
              [](GradCtx& g) {
                static const Op grad{"_class_sums_grad"};
                const Tensor in[5] = {g.in(0), g.in(1), g.in(2), g.dy(0), g.dy(1)};
                if (g.needs(0)) g.dx(0, interpreter().call(grad.def(), in, g.attrs())[0]);
              })
        .no_onnx("part of margin_cross_entropy");

}  // namespace hw

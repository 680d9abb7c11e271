// embedding_adam_step: adam_step of an embedding table whose gradient is given by the rows that were looked up.
#include "op/cost.h"
#include "ops/optim/step_attributes.h"

namespace hw {

static const RegisterOp op =
    embedding_attributes(
        adam_attributes(
            OpDef("embedding_adam_step")
                .doc("adam_step(param, _embedding_grad(grad, index), ...) without the gradient of the table in memory.")
                .in("param", "[rows, features]; rewritten", floating)
                .in("grad", "[..., features]: of the rows looked up", floating)
                .in("index", "row numbers", index_types)
                .in("exp_avg", "as param; rewritten", floating)
                .in("exp_avg_sq", "as param; rewritten", floating)
                .in_optional("max_exp_avg_sq", "as param; rewritten", floating)))
        .infer(embedding_step_outputs)
        .out("param")
        .out("exp_avg")
        .out("exp_avg_sq")
        .out("max_exp_avg_sq")
        .internal()
        .flops(cost::bandwidth_bound)
        .no_sbp("made by the compiler after splitting")
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

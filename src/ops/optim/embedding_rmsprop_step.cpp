// embedding_rmsprop_step: rmsprop_step of an embedding table whose gradient is given by the rows that were looked up.
#include "op/cost.h"
#include "ops/optim/step_attributes.h"

namespace hw {

static const RegisterOp op =
    embedding_attributes(rmsprop_attributes(OpDef("embedding_rmsprop_step")
                                                .doc("rmsprop_step(param, _embedding_grad(grad, index), ...) without "
                                                     "the gradient of the table in memory.")
                                                .in("param", "[rows, features]; rewritten", floating)
                                                .in("grad", "[..., features]: of the rows looked up", floating)
                                                .in("index", "row numbers", index_types)
                                                .in("square_avg", "as param; rewritten", floating)
                                                .in_optional("momentum_buffer", "as param; rewritten", floating)
                                                .in_optional("grad_avg", "as param; rewritten", floating)))
        .infer(embedding_step_outputs)
        .out("param")
        .out("square_avg")
        .out("momentum_buffer")
        .out("grad_avg")
        .internal()
        .flops(cost::bandwidth_bound)
        .no_sbp("made by the compiler after splitting")
        .no_grad("an optimiser step is not differentiated")
        .no_onnx("training only");

}  // namespace hw

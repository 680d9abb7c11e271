// index: advanced indexing, x[i, :, j].
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/index/index_shape.h"

namespace hw {

static const RegisterOp op =
    OpDef("index")
        .doc(
            "Returns the elements of `input` at the given index tensors, one for each axis; None leaves an axis whole. "
            "Used "
            "by x[...].")
        .in("input", "at least one axis")
        .in_optional_list("indices", "integer tensors that broadcast together, or None", index_types)
        .out("y", dtype::same, [](const InferCtx& c) { return indexed_shape(c.in[0], c.in.subspan(1)); })
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp(sbp::broadcast_only)
        .grad("indices",
              [](GradCtx& g) {
                static const Op put{"index_put_"};
                Tensors in{zeros(g.in_spec(0).shape, g.dy().dtype()), g.dy()};
                for (size_t i = 1; i < g.num_inputs(); ++i) in.push_back(g.in(i));
                g.dx(0, interpreter().call_inplace(put.def(), in, {AttrValue(true)}));
              })
        .onnx("GatherND");

}  // namespace hw

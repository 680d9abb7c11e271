// _repeat_index: each position as often as asked.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("_repeat_index")
                                 .doc("Returns every position i counts[i] times, in order.")
                                 .in("counts", "1-d", dtype_bit(DType::I64))
                                 .attr_required("total", AttrValue::Kind::Int, "the sum of counts")
                                 .out("y", dtype::int64, [](const InferCtx& c) { return Dims{c.attr("total").i64()}; })
                                 .internal()
                                 .sbp(sbp::broadcast_only)
                                 .no_grad("the output is an integer")
                                 .no_onnx("its size depends on the data");

}  // namespace hw

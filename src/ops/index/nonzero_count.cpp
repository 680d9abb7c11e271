// _nonzero_count: how many elements are not zero.
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("_nonzero_count")
                                 .doc("Returns the number of elements that are not zero, 0-d int64.")
                                 .in("input", "any shape")
                                 .out("count", dtype::int64, shape::scalar)
                                 .internal()
                                 .flops(cost::bandwidth_bound)
                                 .sbp([](SbpCtx& c) {
                                   for (int64_t a = 0; a < c.in()[0].ndim(); ++a) c.add({split(a)}, {partial_sum()});
                                 })
                                 .no_grad("the output is an integer")
                                 .onnx("ReduceSum(Cast(x, bool))");

}  // namespace hw

// empty: memory as it is.
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("empty")
                                 .doc("Returns a tensor of the given size whose elements are not set.")
                                 .attr_required("size", AttrValue::Kind::Ints, "the shape")
                                 .varargs()
                                 .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: the default dtype")
                                 .keyword()
                                 .out("y", dtype::given_or_default, shape::size)
                                 .flops(cost::bandwidth_bound)
                                 .sbp(sbp::broadcast_only)
                                 .no_grad("it has no tensor input")
                                 .onnx("ConstantOfShape");

}  // namespace hw

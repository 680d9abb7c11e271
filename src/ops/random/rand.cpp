// rand: random numbers spread evenly over [0, 1).
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static DType dtype_of(const InferCtx& c) {
  const DType d = dtype::given_or_default(c);
  check_runtime(is_floating(d), "dtype must be floating, got ", d);
  return d;
}

static const RegisterOp op = OpDef("rand")
                                 .doc("Returns random numbers spread evenly over [0, 1).")
                                 .attr_required("size", AttrValue::Kind::Ints, "the shape")
                                 .varargs()
                                 .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: the default dtype")
                                 .keyword()
                                 .out("y", dtype_of, shape::size)
                                 .random()
                                 .flops(cost::drawing)
                                 .sbp(sbp::broadcast_only)
                                 .no_grad("random numbers do not depend on tensors")
                                 .onnx("RandomUniform");

}  // namespace hw

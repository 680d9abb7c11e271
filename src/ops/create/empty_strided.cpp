// empty_strided: memory as it is, in a given layout.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  const Dims &size = c.attr("size").ints(), &stride = c.attr("stride").ints();
  check(size.size() == stride.size(), "size has ", static_cast<int64_t>(size.size()), " axes, stride ",
        static_cast<int64_t>(stride.size()));
  for (size_t i = 0; i < size.size(); ++i) {
    check_runtime(size[i] >= 0 && stride[i] >= 0, "sizes and strides cannot be negative, got ", size, " and ", stride);
  }
  TensorSpec s;
  s.dtype = dtype::given_or_default(c);
  s.shape = size;
  s.strides = stride;
  check(is_non_overlapping(size, stride), "strides ", stride, " make elements of size ", size, " overlap");
  return {s};
}

static const RegisterOp op = OpDef("empty_strided")
                                 .doc("Returns a tensor of the given size and strides whose elements are not set.")
                                 .attr_required("size", AttrValue::Kind::Ints, "the shape")
                                 .attr_required("stride", AttrValue::Kind::Ints, "elements to step per axis")
                                 .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: the default dtype")
                                 .keyword()
                                 .out("y")
                                 .infer(infer)
                                 .flops(cost::bandwidth_bound)
                                 .sbp(sbp::broadcast_only)
                                 .no_grad("it has no tensor input")
                                 .no_onnx("ONNX tensors have no strides");

}  // namespace hw

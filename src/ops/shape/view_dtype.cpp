// _view_dtype: the same bytes as another dtype; view(dtype).
#include "base/error.h"
#include "op/rules.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs& attrs) {
  const int64_t from = dtype_size(x.dtype), to = dtype_size(attrs[0].dtype());
  View v{x.shape, x.strides};
  if (from == to) return v;
  check_runtime(x.ndim() > 0, "a 0-d tensor can only be viewed as a dtype of the same size, not ", x.dtype, " as ",
                attrs[0].dtype());
  check_runtime(x.strides.back() == 1, "the last axis must be without gaps to be viewed as ", attrs[0].dtype(),
                ", its stride is ", x.strides.back());
  if (from > to) {
    const int64_t parts = from / to;
    for (size_t i = 0; i + 1 < x.shape.size(); ++i) v.strides[i] *= parts;
    v.shape.back() *= parts;
    return v;
  }
  const int64_t parts = to / from;
  check_runtime(x.shape.back() % parts == 0, "the last axis has ", x.shape.back(),
                " elements, which is no multiple of ", parts, "; needed to view ", x.dtype, " as ", attrs[0].dtype());
  for (size_t i = 0; i + 1 < x.shape.size(); ++i) {
    check_runtime(v.strides[i] % parts == 0, "stride ", v.strides[i], " of axis ", static_cast<int64_t>(i),
                  " is no multiple of ", parts);
    v.strides[i] /= parts;
  }
  v.shape.back() /= parts;
  return v;
}

static const RegisterOp op = OpDef("_view_dtype")
                                 .doc(
                                     "Returns a view of the same memory as elements of another dtype. With another "
                                     "element size the last axis shrinks or grows and must be without gaps.")
                                 .in("input", "any shape")
                                 .attr_required("dtype", AttrValue::Kind::DType, "the dtype of the view")
                                 .out(
                                     "y", [](const InferCtx& c) { return c.attr("dtype").dtype(); }, nullptr)
                                 .view(view)
                                 .internal()
                                 .sbp(sbp::broadcast_only)
                                 .no_grad("bytes have no derivative")
                                 .no_onnx("ONNX cannot reinterpret bytes");

}  // namespace hw

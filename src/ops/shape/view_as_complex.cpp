// view_as_complex: pairs of numbers as complex ones.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs&) {
  check_runtime(x.ndim() > 0 && x.shape.back() == 2, "the last axis must have size 2, got ", x);
  check_runtime(x.strides.back() == 1, "the last axis must be without gaps, its stride is ", x.strides.back());
  View v{x.shape, x.strides};
  v.shape.pop_back();
  v.strides.pop_back();
  for (size_t i = 0; i < v.strides.size(); ++i) {
    check_runtime(v.strides[i] % 2 == 0, "stride ", v.strides[i], " of axis ", static_cast<int64_t>(i), " is odd");
    v.strides[i] /= 2;
  }
  return v;
}

static const RegisterOp op =
    OpDef("view_as_complex")
        .doc("Returns a view of a tensor whose last axis has size 2, the real and imaginary parts, as complex numbers.")
        .in("input", "the last axis of size 2 and without gaps", dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .out(
            "y", [](const InferCtx& c) { return complex_dtype(c.in[0].dtype); }, nullptr)
        .view(view)
        .sbp([](SbpCtx& c) {
          Dims to = axes_in_order(c.in()[0].ndim());
          to.back() = -1;
          add_moved_axes(c, to);
        })
        .grad("",
              [](GradCtx& g) {
                static const Op parts{"view_as_real"};
                g.dx(0, parts({g.dy()}));
              })
        .no_onnx("ONNX has no complex operators");

}  // namespace hw

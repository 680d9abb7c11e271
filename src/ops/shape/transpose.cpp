// transpose: two axes swapped.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs& attrs) {
  View v{x.shape, x.strides};
  size_t a = static_cast<size_t>(normalize_axis(attrs[0].i64(), x.ndim()));
  size_t b = static_cast<size_t>(normalize_axis(attrs[1].i64(), x.ndim()));
  if (x.shape.empty()) return v;
  std::swap(v.shape[a], v.shape[b]);
  std::swap(v.strides[a], v.strides[b]);
  return v;
}

static const RegisterOp op =
    OpDef("transpose")
        .doc("Returns a view with the axes `dim0` and `dim1` swapped.")
        .in("input", "any shape")
        .attr_required("dim0", AttrValue::Kind::Int, "an axis")
        .attr_required("dim1", AttrValue::Kind::Int, "an axis")
        .out("y", dtype::same, nullptr)
        .view(view)
        .sbp([](SbpCtx& c) {
          int64_t n = c.in()[0].ndim();
          Dims to = axes_in_order(n);
          if (n == 0) return add_moved_axes(c, to);
          size_t a = static_cast<size_t>(normalize_axis(c.attr("dim0").i64(), n));
          size_t b = static_cast<size_t>(normalize_axis(c.attr("dim1").i64(), n));
          std::swap(to[a], to[b]);
          add_moved_axes(c, to);
        })
        .grad("", [](GradCtx& g) { g.dx(0, transpose(g.dy(), g.attr("dim0").i64(), g.attr("dim1").i64())); })
        .onnx("Transpose");

}  // namespace hw

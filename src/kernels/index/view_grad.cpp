// Where gradients of views go; see the header.
#include "kernels/index/view_grad.h"

#include "kernels/loops/each.h"

namespace hw {

static void slice_grad(const KernelRequest& r, ViewGradPlan& p) {
  p.strides = strides_of(r.outputs[0]);
  size_t axis = static_cast<size_t>(r.attrs[1].i64());
  p.offset = r.attrs[2].i64() * p.strides[axis];
  p.strides[axis] *= r.attrs[3].i64();
}

/// attrs: size, offset, dim1, dim2; the diagonal is the last axis of the input.
static void diagonal_grad(const KernelRequest& r, ViewGradPlan& p) {
  const Dims y = strides_of(r.outputs[0]);
  const int64_t n = r.outputs[0].ndim(), shift = r.attrs[1].i64();
  size_t a = static_cast<size_t>(normalize_axis(r.attrs[2].i64(), n)),
         b = static_cast<size_t>(normalize_axis(r.attrs[3].i64(), n));
  for (size_t i = 0; i < y.size(); ++i)
    if (i != a && i != b) p.strides.push_back(y[i]);
  p.strides.push_back(y[a] + y[b]);
  p.offset = shift >= 0 ? shift * y[b] : -shift * y[a];
}

/// attrs: size, dim, size of the windows, step; the window is the last axis of the input.
static void unfold_grad(const KernelRequest& r, ViewGradPlan& p) {
  p.strides = strides_of(r.outputs[0]);
  if (p.strides.empty()) {
    p.strides = {0};
    return;
  }
  size_t axis = static_cast<size_t>(r.attrs[1].i64());
  p.strides.push_back(p.strides[axis]);
  p.strides[axis] *= r.attrs[3].i64();
  p.overlaps = r.attrs[3].i64() < r.attrs[2].i64();
}

static void as_strided_grad(const KernelRequest& r, ViewGradPlan& p) {
  const Dims &shape = r.attrs[0].ints(), &strides = r.attrs[1].ints();
  p.strides = r.attrs[3].ints();
  p.offset = r.attrs[4].i64();
  p.overlaps = !is_non_overlapping(r.attrs[2].ints(), p.strides);
  if (is_contiguous(shape, strides) && r.outputs[0].contiguous()) return;
  p.room_strides = strides;
  p.room = 1;
  for (size_t i = 0; i < shape.size(); ++i) p.room += std::max<int64_t>(0, shape[i] - 1) * strides[i];
}

bool view_grad_plan(const KernelRequest& r, ViewGradPlan& plan) {
  if (r.op == "_slice_grad")
    slice_grad(r, plan);
  else if (r.op == "_diagonal_grad")
    diagonal_grad(r, plan);
  else if (r.op == "_unfold_grad")
    unfold_grad(r, plan);
  else if (r.op == "_as_strided_grad")
    as_strided_grad(r, plan);
  else
    return false;
  return true;
}

}  // namespace hw

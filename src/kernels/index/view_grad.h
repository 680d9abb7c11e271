// Gradients of views: zeros to which the input is added through a view.
#pragma once

#include "kernels/kernel.h"

namespace hw {

/// Where the elements of input 0 go in the output, in elements.
struct ViewGradPlan {
  Dims strides;  // of the view, over the input's shape
  int64_t offset = 0;
  bool overlaps = false;  // the view shows an element more than once
  int64_t room = 0;       // elements of a buffer when the output must not be addressed directly; else 0
  Dims room_strides;      // the output's strides in that buffer
};

/// False if the op is none of _slice_grad, _as_strided_grad, _diagonal_grad, _unfold_grad.
bool view_grad_plan(const KernelRequest& request, ViewGradPlan& plan);

}  // namespace hw

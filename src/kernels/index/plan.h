// Advanced indexing laid out for kernels: which elements of x belong to which of the selection.
#pragma once

#include "core/spec.h"
#include "kernels/kernel.h"

namespace hw {

/// x is seen as [pre..., indexed axes, post...], the selection y as [pre..., common..., post...].
struct IndexPlan {
  struct Axis {
    size_t input;  // which of the kernel's inputs holds the indices
    DType dtype;
    Dims strides;  // of the index tensor over `common`
    int64_t x_stride, size, axis;
  };
  std::vector<Axis> axes;
  Dims common, y_common;   // the index tensors' broadcast shape; y's strides over it
  Dims pre, x_pre, y_pre;  // sizes and strides
  Dims post, x_post, y_post;
  bool wraps = true;                                 // whether negative indices count from the end
  int64_t count = 0, pre_count = 0, post_count = 0;  // products of the sizes

  size_t scratch_bytes() const { return static_cast<size_t>(count) * sizeof(int64_t); }
};

/// `indices[i]` (kernel input first_input + i) indexes axis i of x unless it is not given. y is broadcast to the selection.
IndexPlan make_index_plan(const TensorSpec& x, const TensorSpec& y, std::span<const TensorSpec> indices,
                          size_t first_input);
/// One index tensor, for `axis`; as in torch's index_select and its like, negative indices are refused unless `wraps`.
IndexPlan make_index_plan(const TensorSpec& x, const TensorSpec& y, const TensorSpec& index, size_t input, int64_t axis,
                          bool wraps = false);

/// The offset in x of each index combination, in elements. False, and a report, if an index is out of range.
bool index_offsets(const IndexPlan& plan, const KernelArgs& args, int64_t* offsets);

}  // namespace hw

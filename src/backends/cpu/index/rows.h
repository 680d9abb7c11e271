// Whether the parts of an indexing plan that are not indexed are plain rows.
#pragma once

#include "kernels/index/plan.h"
#include "kernels/loops/nest.h"

namespace hw {

/// The strides of one merged axis, or false if the axes do not merge into one.
inline bool merge_axes(const Dims& shape, const Dims& first, const Dims& second, int64_t& first_stride,
                       int64_t& second_stride) {
  const Dims operands[] = {first, second};
  const Nest n = make_nest(shape, operands);
  first_stride = n.stride(0, 0);
  second_stride = n.stride(1, 0);
  return n.axes() == 1;
}

/// The index positions and the rest of y lie in row-major order with single strides.
struct Rows {
  int64_t y_step = 0;                  // from one index position to the next, in y
  int64_t x_stride = 1, y_stride = 1;  // within a row
  bool make(const IndexPlan& p) {
    int64_t unused = 0;
    // make_nest sorts axes by stride, which for the index positions would change their order.
    return is_ordered(p.common, p.y_common) && merge_axes(p.common, p.y_common, p.y_common, y_step, unused) &&
           merge_axes(p.post, p.y_post, p.x_post, y_stride, x_stride);
  }

 private:
  static bool is_ordered(const Dims& shape, const Dims& strides) {
    int64_t last = INT64_MAX;
    for (size_t a = 0; a < shape.size(); ++a) {
      if (shape[a] == 1) continue;
      if (strides[a] > last) return false;
      last = strides[a];
    }
    return true;
  }
};

}  // namespace hw

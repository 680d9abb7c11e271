// Equal pieces along a fixed axis; see the header.
#include "ops/shape/equal_split.h"

#include "base/error.h"

namespace hw {

Tensors equal_split(const Tensor& x, const Attrs& attrs, int64_t least_axes, int64_t axis) {
  static const Op tensor_split{"tensor_split"};
  check_runtime(x.ndim() >= least_axes, "the input needs at least ", least_axes, " axes, got ", x);
  if (!attrs[0].none()) {
    const int64_t n = attrs[0].i64(), size = x.size(axis);
    check_runtime(n > 0 && size % n == 0, "axis ", axis, " has ", size, " elements, which cannot be split into ", n,
                  " equal pieces");
  }
  return tensor_split.all({x}, {attrs[0], attrs[1], axis});
}

}  // namespace hw

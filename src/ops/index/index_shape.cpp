// The shape that advanced indexing gives; see the header.
#include "ops/index/index_shape.h"

#include "base/error.h"

namespace hw {

Dims indexed_shape(const TensorSpec& x, std::span<const TensorSpec> indices) {
  check_index(static_cast<int64_t>(indices.size()) <= x.ndim(),
              "too many indices: ", static_cast<int64_t>(indices.size()), " for ", x);
  Dims common, rest;
  bool any = false, adjacent = true;
  size_t first = 0, last = 0;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (i >= indices.size() || !indices[i].given()) {
      rest.push_back(x.shape[i]);
      continue;
    }
    if (any) {
      adjacent &= i == last + 1;
      try {
        common = broadcast_shapes(common, indices[i].shape);
      } catch (const Error& e) {
        fail(ErrorKind::Index, "the index tensors do not broadcast together: ", e.message());
      }
    } else {
      first = i;
      common = indices[i].shape;
    }
    any = true;
    last = i;
    check_index(x.shape[i] > 0 || numel(indices[i].shape) == 0, "axis ", static_cast<int64_t>(i), " of ", x,
                " has no elements to index");
  }
  check(any, "at least one index tensor is needed");
  if (!adjacent) first = 0;
  Dims out;
  for (size_t i = 0; i < first; ++i) out.push_back(rest[i]);
  for (int64_t n : common) out.push_back(n);
  for (size_t i = first; i < rest.size(); ++i) out.push_back(rest[i]);
  return out;
}

}  // namespace hw

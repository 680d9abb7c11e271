// Checks of shapes along an axis; see the header.
#include "ops/index/along_dim.h"

#include "base/error.h"
#include "ops/shape/axes.h"

namespace hw {

void check_index_shape(const TensorSpec& x, const TensorSpec& index, int64_t axis) {
  if (index.numel() == 0 && index.ndim() == 1 && x.ndim() != 1)
    return check_runtime(false, "index is ", index, ", input ", x, ": they must have as many axes");
  check_runtime(std::max<int64_t>(1, x.ndim()) == std::max<int64_t>(1, index.ndim()), "index is ", index, ", input ", x,
                ": they must have as many axes");
  for (size_t a = 0; a < index.shape.size() && a < x.shape.size(); ++a)
    check_runtime(static_cast<int64_t>(a) == axis || index.shape[a] <= x.shape[a], "size ", index.shape[a],
                  " of index at axis ", static_cast<int64_t>(a), " exceeds size ", x.shape[a],
                  " of the input; only along dim (", axis, ") it may be larger");
}

void check_source_shape(const TensorSpec& src, const TensorSpec& index) {
  if (src.ndim() == 0) return;
  check_runtime(src.ndim() == std::max<int64_t>(1, index.ndim()), "index is ", index, ", src ", src,
                ": they must have as many axes");
  for (size_t a = 0; a < index.shape.size(); ++a)
    check_runtime(index.shape[a] <= src.shape[a], "size ", index.shape[a], " of index at axis ",
                  static_cast<int64_t>(a), " exceeds size ", src.shape[a], " of src");
}

int64_t index_count(const TensorSpec& index) {
  check_index(index.ndim() <= 1, "index must be 0-d or 1-d, got ", index);
  return index.numel();
}

void check_rows(const TensorSpec& x, const TensorSpec& index, const TensorSpec& source, int64_t axis) {
  int64_t n = index_count(index);
  check_runtime(source.dtype == x.dtype, "source is ", source.dtype, ", the input ", x.dtype, "; they must be alike");
  check_runtime(std::max<int64_t>(1, source.ndim()) == std::max<int64_t>(1, x.ndim()), "source is ", source,
                ", the input ", x, ": they must have as many axes");
  int64_t along = source.ndim() ? source.shape[static_cast<size_t>(axis)] : 1;
  check_runtime(along == n, "index has ", n, " elements, source ", along, " along axis ", axis);
  for (size_t a = 0; a < x.shape.size() && a < source.shape.size(); ++a)
    check_runtime(static_cast<int64_t>(a) == axis || source.shape[a] == x.shape[a], "size ", source.shape[a],
                  " of source at axis ", static_cast<int64_t>(a), " differs from size ", x.shape[a], " of the input");
}

void add_common_axes(SbpCtx& c, int64_t axis) {
  const TensorSpec& y = c.out()[0];
  for (int64_t a = 0; a < y.ndim(); ++a) {
    bool same = a != axis;
    for (const TensorSpec& s : c.in())
      same = same && (s.ndim() == 0 ||
                      (s.ndim() == y.ndim() && s.shape[static_cast<size_t>(a)] == y.shape[static_cast<size_t>(a)]));
    if (!same) continue;
    std::vector<Sbp> in;
    for (const TensorSpec& s : c.in()) in.push_back(s.ndim() == 0 ? broadcast() : split(a));
    c.add(in, {split(a)});
  }
}

Tensor grown(const Tensor& x, const Dims& shape) {
  Tensor y = x;
  for (size_t a = 0; a < shape.size() && shape.size() == x.shape().size(); ++a) {
    if (y.shape()[a] == shape[a]) continue;
    Dims size = y.shape();
    size[a] = shape[a];
    y = slice_grad(y, size, static_cast<int64_t>(a), 0, 1);
  }
  return y;
}

}  // namespace hw

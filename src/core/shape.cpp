// Sizes, strides and axis arithmetic.
#include "core/shape.h"

#include "base/error.h"

namespace hw {

int64_t numel(std::span<const int64_t> shape) {
  check(static_cast<int64_t>(shape.size()) <= kMaxDims, "a tensor has at most ", kMaxDims, " axes, got ",
        static_cast<int64_t>(shape.size()));
  int64_t n = 1;
  bool overflow = false, zero = false;
  for (int64_t size : shape) {
    if (size == 0) zero = true;
    overflow |= __builtin_mul_overflow(n, size, &n);
  }
  if (zero) return 0;
  check(!overflow, "the number of elements of shape ", Dims(shape), " exceeds 2^63 - 1");
  return n;
}

Dims contiguous_strides(std::span<const int64_t> shape) {
  Dims strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    (void)__builtin_mul_overflow(step, std::max<int64_t>(shape[i], 1), &step);  // numel() refuses such shapes
  }
  return strides;
}

bool is_contiguous(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  int64_t step = 1;
  bool contiguous = true;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1) {
      contiguous &= strides[i] == step;
      step *= shape[i];
    }
  }
  return contiguous;
}

bool is_non_overlapping(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  SmallVec<int, 8> order;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] > 1) order.push_back(static_cast<int>(i));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t reach = 0;  // largest offset reached by the axes so far
  for (int i : order) {
    if (strides[i] <= reach) return false;
    int64_t span = 0;
    if (__builtin_mul_overflow(strides[i], shape[i] - 1, &span) || __builtin_add_overflow(reach, span, &reach))
      reach = INT64_MAX;
  }
  return true;
}

Dims broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Dims out(a);
  size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t x = a[shift + i], y = b[i];
    if (x == y || y == 1) continue;
    check_runtime(x == 1, "shapes ", Dims(a), " and ", Dims(b), " do not broadcast: sizes ", x, " and ", y,
                  " differ at axis ", static_cast<int64_t>(shift + i), ". Sizes must be equal, or one of them 1.");
    out[shift + i] = y;
  }
  return out;
}

Dims broadcast_strides(std::span<const int64_t> shape, std::span<const int64_t> strides, std::span<const int64_t> to) {
  Dims out(to.size(), 0);
  size_t shift = to.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) out[shift + i] = shape[i] == 1 && to[shift + i] != 1 ? 0 : strides[i];
  return out;
}

int64_t normalize_axis(int64_t axis, int64_t ndim) {
  int64_t n = std::max<int64_t>(ndim, 1);
  check_index(axis >= -n && axis < n, "axis ", axis, " is out of range for ", ndim, " dimensions: expected one in [",
              -n, ", ", n - 1, "]");
  return axis < 0 ? axis + n : axis;
}

Dims normalize_axes(std::span<const int64_t> axes, int64_t ndim) {
  Dims out;
  if (axes.empty()) {
    for (int64_t i = 0; i < ndim; ++i) out.push_back(i);
    return out;
  }
  for (int64_t axis : axes) {
    int64_t a = normalize_axis(axis, ndim);
    if (ndim > 0) out.push_back(a);
  }
  std::sort(out.begin(), out.end());
  for (size_t i = 1; i < out.size(); ++i)
    check_runtime(out[i] != out[i - 1], "axis ", out[i], " appears twice in ", Dims(axes));
  return out;
}

Dims reduced_shape(std::span<const int64_t> shape, std::span<const int64_t> axes, bool keepdim) {
  Dims out;
  size_t next = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (next < axes.size() && axes[next] == static_cast<int64_t>(i)) {
      ++next;
      if (keepdim) out.push_back(1);
    } else {
      out.push_back(shape[i]);
    }
  }
  return out;
}

void append_text(std::string& out, const Dims& dims) {
  out.push_back('[');
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i) out.append(", ");
    append_signed(out, dims[i]);
  }
  out.push_back(']');
}

}  // namespace hw

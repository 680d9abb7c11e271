// Overlap of two tensors: by address, and for equal strides exactly.
#include "core/overlap.h"

namespace hw {

/// One more than the farthest element, counted from the first.
static int64_t reach(const Tensor& t) {
  int64_t n = 1;
  for (size_t i = 0; i < t.shape().size(); ++i) n += (t.shape()[i] - 1) * t.strides()[i];
  return n;
}

namespace {
struct Axis {
  int64_t stride, most;  // index differences lie in [-most, most]
};
}  // namespace

/// Whether sum(k_i * stride_i) == distance for some |k_i| <= most_i; strides fall, and each exceeds what later axes reach.
static bool reaches(std::span<const Axis> axes, int64_t distance) {
  if (axes.empty()) return distance == 0;
  const auto [stride, most] = axes[0];
  int64_t k = distance / stride;
  if (distance % stride < 0) --k;
  for (int64_t candidate : {k, k + 1})
    if (candidate >= -most && candidate <= most && reaches(axes.subspan(1), distance - candidate * stride)) return true;
  return false;
}

/// False when `a` and `b` have the same strides and are proven to be apart.
static bool may_meet_by_strides(const Tensor& a, const Tensor& b, int64_t bytes_apart) {
  const int64_t size = dtype_size(a.dtype());
  if (a.dtype() != b.dtype() || a.ndim() != b.ndim() || bytes_apart % size != 0) return true;
  SmallVec<Axis, 6> axes;
  Dims shape, strides;
  for (size_t i = 0; i < a.shape().size(); ++i) {
    const int64_t most = std::max(a.shape()[i], b.shape()[i]);
    if (most == 1) continue;
    const int64_t stride = a.shape()[i] == most ? a.strides()[i] : b.strides()[i];
    if ((a.shape()[i] > 1 && a.strides()[i] != stride) || (b.shape()[i] > 1 && b.strides()[i] != stride)) return true;
    axes.push_back({stride, most - 1});
    shape.push_back(most);
    strides.push_back(stride);
  }
  if (axes.size() > 8 || !is_non_overlapping(shape, strides)) return true;
  std::sort(axes.begin(), axes.end(), [](const Axis& x, const Axis& y) { return x.stride > y.stride; });
  return reaches({axes.begin(), axes.size()}, bytes_apart / size);
}

bool may_meet(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  const bool abstract = !a->storage->data() || !b->storage->data();  // no memory: only a common storage counts
  if (abstract && !(a->storage == b->storage)) return false;
  const char *a_begin = a.data_as<char>(), *b_begin = b.data_as<char>();
  if (abstract) {
    a_begin = reinterpret_cast<const char*>(a.offset() * dtype_size(a.dtype()));
    b_begin = reinterpret_cast<const char*>(b.offset() * dtype_size(b.dtype()));
  }
  const char *a_end = a_begin + reach(a) * dtype_size(a.dtype()), *b_end = b_begin + reach(b) * dtype_size(b.dtype());
  if (a_end <= b_begin || b_end <= a_begin) return false;
  return may_meet_by_strides(a, b, a_begin - b_begin);
}

bool same_memory(const Tensor& a, const Tensor& b) {
  const bool begins = a->storage == b->storage ? a.offset() == b.offset() : a.data() && a.data() == b.data();
  return begins && a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides();
}

}  // namespace hw

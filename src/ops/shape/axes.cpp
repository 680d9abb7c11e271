// Splits through shape ops; see the header.
#include "ops/shape/axes.h"

#include "op/call.h"

namespace hw {

void add_moved_axes(SbpCtx& c, std::span<const int64_t> to) {
  for (size_t i = 0; i < to.size(); ++i)
    if (to[i] >= 0) c.add({split(static_cast<int64_t>(i))}, {split(to[i])});
  c.add({partial_sum()}, {partial_sum()});
}

void add_other_axes(SbpCtx& c, int64_t axis, bool drops) {
  Dims to = axes_in_order(c.in()[0].ndim());
  for (int64_t& a : to) a = a == axis ? -1 : a - (drops && a > axis);
  add_moved_axes(c, to);
}

Dims axes_in_order(int64_t n) {
  Dims axes(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) axes[static_cast<size_t>(i)] = i;
  return axes;
}

Dims as_list(const AttrValue& value) {
  if (value.none()) return {};
  return value.kind() == AttrValue::Kind::Ints ? value.ints() : Dims{value.i64()};
}

Tensor slice_grad(const Tensor& x, const Dims& shape, int64_t axis, int64_t start, int64_t step) {
  static const Op op{"_slice_grad"};
  return op({x}, {shape, axis, start, step});
}

}  // namespace hw

// Sorting and merging of axes, and the walk over rows; see the header.
#include "kernels/loops/nest.h"

#include <algorithm>

namespace hw {

/// Axes with more than one index, innermost (smallest stride of the written operand) first.
static Dims sorted_axes(std::span<const int64_t> shape, std::span<const Dims> operands) {
  Dims axes;
  for (size_t a = shape.size(); a-- > 0;)
    if (shape[a] != 1) axes.push_back(static_cast<int64_t>(a));
  auto before = [&](int64_t a, int64_t b) {
    for (const Dims& strides : operands) {
      const int64_t sa = strides[static_cast<size_t>(a)], sb = strides[static_cast<size_t>(b)];
      if (sa != sb) return sa < sb;
    }
    return false;
  };
  std::stable_sort(axes.begin(), axes.end(), before);
  return axes;
}

Nest make_nest(std::span<const int64_t> shape, std::span<const Dims> operands) {
  Nest nest;
  nest.count = 1;
  for (int64_t s : shape) nest.count *= s;
  const Dims axes = sorted_axes(shape, operands);
  Dims firsts;  // the axis that gives the stride of each merged axis
  for (int64_t axis : axes) {
    const size_t a = static_cast<size_t>(axis);
    bool merges = !firsts.empty();
    for (const Dims& strides : operands)
      merges = merges && strides[a] == strides[static_cast<size_t>(firsts.back())] * nest.sizes.back();
    if (merges) {
      nest.sizes.back() *= shape[a];
    } else {
      nest.sizes.push_back(shape[a]);
      firsts.push_back(axis);
    }
  }
  if (firsts.empty()) nest.sizes.push_back(nest.count);
  nest.strides.resize(operands.size() * nest.sizes.size(), 1);
  for (size_t o = 0; o < operands.size(); ++o)
    for (size_t a = 0; a < firsts.size(); ++a)
      nest.strides[o * nest.sizes.size() + a] = operands[o][static_cast<size_t>(firsts[a])];
  return nest;
}

NestWalk::NestWalk(const Nest& nest, int operands, int64_t begin) : nest_(&nest), operands_(operands) {
  for (int o = 0; o < operands; ++o) offsets_[o] = 0;
  for (int64_t a = 0; a < nest.axes(); ++a) {
    const int64_t size = nest.sizes[static_cast<size_t>(a)];
    index_[a] = 0;
    if (begin == 0) continue;
    index_[a] = begin % size;
    begin /= size;
    for (int o = 0; o < operands; ++o) offsets_[o] += index_[a] * nest.stride(o, a);
  }
}

void NestWalk::advance(int64_t elements) {
  index_[0] += elements;
  for (int o = 0; o < operands_; ++o) offsets_[o] += elements * nest_->stride(o, 0);
  carry(0);
}

void NestWalk::advance_rows(int64_t count) {
  index_[1] += count;
  for (int o = 0; o < operands_; ++o) offsets_[o] += count * nest_->stride(o, 1);
  carry(1);
}

/// Where an axis is at its end, goes on to the next index of the axis above.
void NestWalk::carry(int64_t axis) {
  for (int64_t a = axis; a + 1 < nest_->axes(); ++a) {
    const int64_t size = nest_->sizes[static_cast<size_t>(a)];
    if (index_[a] < size) return;
    index_[a] = 0;
    ++index_[a + 1];
    for (int o = 0; o < operands_; ++o) offsets_[o] += nest_->stride(o, a + 1) - size * nest_->stride(o, a);
  }
}

}  // namespace hw

// A loop nest over operands of one shape: axes sorted by the first operand's strides and merged where they can be.
#pragma once

#include <span>

#include "core/shape.h"

namespace hw {

struct Nest {
  Dims sizes;                     // innermost axis first; at least one axis, unless count is 0
  SmallVec<int64_t, 24> strides;  // in elements: operand o, axis a at [o * axes() + a]
  int64_t count = 0;              // product of the sizes

  int64_t axes() const { return static_cast<int64_t>(sizes.size()); }
  int64_t stride(int64_t operand, int64_t axis) const { return strides[static_cast<size_t>(operand * axes() + axis)]; }
};

/// `operands` holds the strides of each operand for each axis of `shape`, outermost first; the first operand is the one written.
Nest make_nest(std::span<const int64_t> shape, std::span<const Dims> operands);

/// Walks the rows (innermost axis) of a nest from a linear position, keeping one element offset per operand.
class NestWalk {
 public:
  static constexpr int kMaxOperands = 8;
  NestWalk(const Nest& nest, int operands, int64_t begin);
  int64_t offset(int operand) const { return offsets_[operand]; }  // of the current element
  int64_t left_in_row() const { return nest_->sizes[0] - index_[0]; }
  int64_t left_in_axis(int64_t axis) const { return nest_->sizes[static_cast<size_t>(axis)] - index_[axis]; }
  void advance(int64_t elements);    // at most left_in_row()
  void advance_rows(int64_t count);  // from the start of a row, at most left_in_axis(1)

 private:
  void carry(int64_t axis);

  const Nest* nest_;
  int operands_;
  int64_t index_[kMaxDims];
  int64_t offsets_[kMaxOperands];
};

}  // namespace hw

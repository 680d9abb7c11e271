// What the ops on scores of classes share: attributes, and how they are split by classes.
#pragma once

#include "base/error.h"
#include "op/rules.h"
#include "op/split_form.h"

namespace hw {

/// Positions are read by kernels/loss/class_scores.h.
inline OpDef& class_attributes(OpDef& op) {
  return op.attr("margin1", 1.0, "factor of the target's angle")
      .attr("margin2", 0.0, "added to the target's angle")
      .attr("margin3", 0.0, "taken from the target's cosine")
      .attr("scale", 1.0, "factor of all scores")
      .attr("ignore_index", int64_t{-100}, "rows of this target have none")
      .attr("classes", int64_t{-1}, "of all ranks together; -1: those of the input")
      .attr("first", int64_t{0}, "the class of the first score, where ranks hold some of the classes");
}

inline int64_t class_axis(const TensorSpec& x) { return x.ndim() == 1 ? 0 : 1; }

/// Input 0 has the scores [N, C, ...] or [C], all others are of its rows. The shape and the dtype of what is of a row.
inline TensorSpec class_row(const InferCtx& c) {
  const TensorSpec& x = c.in[0];
  check_runtime(x.ndim() >= 1, "input must have an axis of classes");
  TensorSpec row;
  row.shape = x.shape;
  row.shape.erase(static_cast<size_t>(class_axis(x)));
  row.dtype = is_reduced(x.dtype) ? DType::F32 : x.dtype;
  check(c.attr("scale").f64() > 0, "scale must be positive, got ", c.attr("scale").f64());
  for (size_t i = 1; i < c.in.size(); ++i)
    check_runtime(c.in[i].shape == row.shape, c.op.inputs()[i].name, " must have shape ", row.shape,
                  " (that of input without the classes), got ", c.in[i].shape);
  return row;
}

/// Every axis but that of the classes is split freely; split by classes, each rank sees its own, and the outputs are `joined`.
inline void split_classes(SbpCtx& c, const Sbp& joined) {
  const int64_t classes = class_axis(c.in()[0]);
  const size_t rows = c.in().size() - 1;
  auto add = [&](int64_t axis, const Sbp& in, const Sbp& out) {
    std::vector<Sbp> inputs(rows + 1, in);
    inputs[0] = split(axis);
    c.add(std::move(inputs), std::vector<Sbp>(c.out().size(), out));
  };
  for (int64_t axis = 0; axis < c.in()[0].ndim(); ++axis) {
    if (axis == classes) continue;
    const Sbp row = split(axis > classes ? axis - 1 : axis);
    add(axis, row, c.out()[0].ndim() == c.in()[0].ndim() ? split(axis) : row);
  }
  if (c.in()[0].shape[static_cast<size_t>(classes)] > 0) add(classes, broadcast(), joined);
}

inline void set_first_class(std::span<const Box> in, std::span<const Box>, Attrs& attrs) {
  const Interval classes = in[0][in[0].size() == 1 ? 0 : 1];
  attrs[6] = classes.begin;
}

}  // namespace hw

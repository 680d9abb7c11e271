// What a profiler records of one call of an operator.
#pragma once

#include "base/trace.h"
#include "op/op_def.h"

namespace hw {

/// From its making to its end. Only while tracing().
class TracedOp {
 public:
  /// `in` and `out` must outlive it; `out` may be filled in meanwhile.
  TracedOp(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out);
  ~TracedOp();
  TracedOp(const TracedOp&) = delete;

 private:
  TraceEvent event_;
  std::span<Tensor> out_;
  bool count_outputs_ = false;  // an operation an element
};

}  // namespace hw

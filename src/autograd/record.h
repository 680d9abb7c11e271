// Recording operations on the tape.
#pragma once

#include "autograd/mode.h"
#include "autograd/node.h"

namespace hw {

inline bool should_record(const OpDef& op, std::span<const Tensor> in) {
  if (!t_grad_mode.enabled) return false;
  for (const Tensor& t : in)
    if (requires_grad(t)) return true;
  return false;
}

/// Whether the gradient of op(in) will read input i.
bool keeps_input(const OpDef& op, std::span<const Tensor> in, size_t i);
/// Records op(in) = out. Integer outputs and ops without gradient get no history.
void record(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<const Tensor> out);

/// Before an in-place write to `t`: throws for leaves that require grad, expanded and read-only memory.
/// `recorded`: the write itself enters the graph.
void check_inplace(std::string_view op, const Tensor& t, bool recorded);
/// After op(in) was written into in[0]. `in0_before`: what the gradient sees as input 0 (a copy if the rule reads it).
void record_inplace(const OpDef& op, std::span<const Tensor> in, const Tensor& in0_before, const Attrs& attrs);

/// Anomaly mode: who is running (module path, source line), and the check of a result.
using OriginText = std::string (*)();
void set_origin_text(OriginText f);
std::string origin_text();
bool has_nan(const Tensor& t);

}  // namespace hw

// Eager in-place calls run the ordinary kernel with its first input as the output, so every op that has an in-place form tolerates that.
#include "compiler/regions/aliasing.h"

#include "compiler/regions/lower_region.h"
#include "compiler/regions/region.h"
#include "op/rules.h"

namespace hw {

static bool is_elementwise(const OpDef& op) {
  return op.sbp_rule() == &sbp::elementwise || op.sbp_rule() == &sbp::linear || op.sbp_rule() == &sbp::additive;
}

static bool is_step(const OpDef& op) {
  return op.is_internal() && op.inputs().size() > 1 && op.inputs()[0].name == "param" && op.inputs()[1].name == "grad";
}

/// Optimiser steps rewrite all given inputs but the gradient, and the rows it belongs to, in their order.
static bool is_rewritten(const OpDef& op, const Node& node, size_t in, size_t out) {
  size_t at = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i == 1 || node.inputs[i] == kNone || op.inputs()[i].name == "index") continue;
    if (at++ == out) return i == in;
  }
  return false;
}

bool may_overwrite(const Node& node, size_t in, size_t out) {
  if (node.op == kRegion) return region_may_overwrite(node, in, out);
  if (!node.bodies.empty()) return false;  // runs whole plans over its inputs
  const OpDef& op = get_op(node.op);
  if (op.name() == "_write_view" || op.name() == "copy_") return in == 0 && out == 0;
  if (is_step(op)) return is_rewritten(op, node, in, out);
  if (out != 0 || !op.has_inplace() || op.kind() != OpKind::Kernel) return false;
  return in == 0 || is_elementwise(op);
}

bool reads_input(const Node& node, size_t in) { return node.inputs[in] != kNone && !(in == 0 && node.op == "copy_"); }

}  // namespace hw

// Reading the range of an activation.
#include "compiler/passes/value_range.h"

#include <cmath>

#include "compiler/evaluate.h"

namespace hw {

static bool number(const Graph& graph, ValueId v, double& value) {
  Scalar s;
  if (v == kNone || !constant_scalar(graph, v, s) || s.kind() == Scalar::Kind::Complex) return false;
  value = s.f64();
  return !std::isnan(value);
}

bool limits_range(const Graph& graph, const Node& n, double& low, double& high) {
  low = -INFINITY, high = INFINITY;
  if (n.op == "relu") return low = 0, true;
  if (n.op == "relu6") return low = 0, high = 6, true;
  if (n.op == "hardtanh") return low = n.attrs[0].f64(), high = n.attrs[1].f64(), low <= high;
  if (n.op == "_clamp_min") return number(graph, n.inputs[1], low);
  if (n.op == "_clamp_max") return number(graph, n.inputs[1], high);
  return n.op == "clamp_tensor" && number(graph, n.inputs[1], low) && number(graph, n.inputs[2], high) && low <= high;
}

}  // namespace hw
